import type { ReactNode } from 'react'

/** Preformatted text that scrolls in its own box: a person without a mouse can reach it too. */
export function ScrollText({ label, className, children }: { label: string; className?: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must take the focus, or keys cannot scroll it.
    // biome-ignore lint/a11y/useSemanticElements: a fieldset holds fields; this is text.
    <pre role="group" aria-label={label} tabIndex={0} className={className}>
      {children}
    </pre>
  )
}
