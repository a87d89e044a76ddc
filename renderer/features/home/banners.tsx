import { useState } from 'react'
import type { HostStatus } from '../../../kernel/wire/operator.ts'
import { InertText } from '../../components/inert-text.tsx'
import { TimeAgo } from '../../components/time.tsx'

const dismissed = 'exodesk.recovered-seen'

/** Says what the last start had to mend. Stays until it is read. */
export function RecoveredBanner({ recovered }: { recovered: NonNullable<HostStatus['recovered']> }) {
  const [seen, setSeen] = useState(() => localStorage.getItem(dismissed))
  if (seen === String(recovered.at)) return null
  return (
    <section className="banner banner-run" data-testid="recovered-banner" aria-label="Recovered">
      <p>
        <strong>⟳ Recovered</strong> <TimeAgo at={recovered.at} className="muted" />
      </p>
      <p>
        <InertText text={recovered.summary} />
      </p>
      <button
        type="button"
        className="button"
        onClick={() => {
          localStorage.setItem(dismissed, String(recovered.at))
          setSeen(String(recovered.at))
        }}
      >
        Understood
      </button>
    </section>
  )
}

/** Without a box nothing runs; the one command that mends it, and what still works. */
export function SandboxBanner({ sandbox }: { sandbox: HostStatus['sandbox'] }) {
  return (
    <section className="banner banner-bad" data-testid="sandbox-banner" aria-label="No sandbox">
      <p>
        <strong className="tone-bad">✗ No sandbox</strong> {sandbox.reason}
      </p>
      {sandbox.fix && (
        <p>
          Run <code className="banner-command">{sandbox.fix}</code>
          <button
            type="button"
            className="button quiet"
            onClick={() => void navigator.clipboard.writeText(sandbox.fix ?? '')}
          >
            Copy
          </button>
        </p>
      )}
      <p className="muted">History, review and revisions stay usable. Nothing ever runs outside a box.</p>
    </section>
  )
}
