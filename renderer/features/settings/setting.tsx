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

export interface ChosenPreference<T extends string> {
  value: T
  set: (to: T) => void
  isChanged: boolean
  reset: () => void
}

/** A preference with a few values. */
export function ChoiceSetting<T extends string>(props: {
  name: string
  usual: string
  preference: ChosenPreference<T>
  options: readonly (readonly [value: T, name: string])[]
  children?: ReactNode
}) {
  const { name, usual, preference, options, children } = props
  return (
    <Setting
      name={name}
      usual={usual}
      isChanged={preference.isChanged}
      onReset={preference.reset}
      control={<Choice label={name} value={preference.value} onChange={preference.set} options={options} />}
    >
      {children}
    </Setting>
  )
}

/** A preference that is on or off, as one with two values. */
export function onOff(preference: {
  value: boolean
  set: (to: boolean) => void
  isChanged: boolean
  reset: () => void
}): ChosenPreference<'on' | 'off'> {
  return { ...preference, value: preference.value ? 'on' : 'off', set: (to) => preference.set(to === 'on') }
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
