import { useState } from 'react'
import type { HostStatus } from '../../../kernel/wire/operator.ts'
import { InertText } from '../inert-text.tsx'
import { TimeAgo } from '../time.tsx'

const dismissed = 'exodesk.recovered-seen'

/** Says what the last start had to mend, on whatever screen the desk comes back to. Stays until it is read. */
export function Recovered({ recovered }: { recovered: NonNullable<HostStatus['recovered']> }) {
  const [seen, setSeen] = useState(() => localStorage.getItem(dismissed))
  if (seen === String(recovered.at)) return null
  return (
    <section className="shell-said" data-testid="recovered-banner" aria-label="Recovered">
      <span>
        ⟳ <InertText text={recovered.summary} /> <TimeAgo at={recovered.at} className="muted" />
      </span>
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
