import type { ReactNode } from 'react'

interface Props {
  name: string
  /** What it does, where that is not plain from its name. */
  children?: ReactNode
  /** What it is unless it is changed, in words. */
  usual: string
  isChanged: boolean
  onReset: () => void
  control: ReactNode
}

/** One preference of this desk: what it does, what it is by itself, whether it was changed, and the way back. */
export function Setting({ name, children, usual, isChanged, onReset, control }: Props) {
  return (
    <section className="setting" aria-label={name}>
      <div className="setting-words">
        <h2>
          {isChanged && (
            <span className="tone-run" title="Changed">
              ●<span className="sr"> changed: </span>
            </span>
          )}
          {name}
        </h2>
        {children && <p className="muted">{children}</p>}
      </div>
      <div className="setting-control">
        {control}
        <span className="setting-usual muted">
          This desk. Usual: {usual}.
          {isChanged && (
            <button type="button" className="button quiet setting-reset" onClick={onReset} aria-label={`Reset ${name}`}>
              Reset
            </button>
          )}
        </span>
      </div>
    </section>
  )
}

/** One of a few, each seen. */
export function Choice<T extends string>(props: {
  label: string
  value: T
  options: readonly (readonly [value: T, name: string])[]
  onChange: (value: T) => void
}) {
  const { label, value, options, onChange } = props
  return (
    <fieldset className="choice">
      <legend className="sr">{label}</legend>
      {options.map(([each, name]) => (
        <label key={each} data-chosen={each === value || undefined}>
          <input type="radio" name={label} checked={each === value} onChange={() => onChange(each)} />
          {name}
        </label>
      ))}
    </fieldset>
  )
}

/** A form's own refusal. */
export function Problem({ text }: { text: string | null }) {
  if (text === null) return null
  return (
    <p className="tone-bad" role="alert">
      ✗ {text}
    </p>
  )
}

export function Field({ name, children, hint }: { name: string; children: ReactNode; hint?: string }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is the child.
    <label className="settings-field">
      <span>{name}</span>
      {children}
      {hint && <span className="muted settings-hint">{hint}</span>}
    </label>
  )
}
