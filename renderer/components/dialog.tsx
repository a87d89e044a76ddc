import { type ReactNode, useEffect, useRef } from 'react'
import { useKeys } from '../lib/keys.ts'
import './dialog.css'

/** A dialog that the operator asked for. Nothing in it has the focus but the dialog itself. */
export function Dialog(props: { title: string; onClose: () => void; children: ReactNode; footer?: ReactNode }) {
  const { title, onClose, children, footer } = props
  // Keys of the screen below do nothing while it is open.
  useKeys({ escape: onClose }, true, true)
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    dialog.current?.showModal()
    dialog.current?.focus()
  }, [])
  return (
    <dialog ref={dialog} className="dialog" tabIndex={-1} aria-label={title} onClose={onClose}>
      <header>
        <h1>{title}</h1>
        <button type="button" className="button quiet" onClick={onClose} aria-label="Close">
          ✕
        </button>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must take the focus, or keys cannot scroll it. */}
      <section className="dialog-body" aria-label={title} tabIndex={0}>
        {children}
      </section>
      {footer && <footer>{footer}</footer>}
    </dialog>
  )
}
