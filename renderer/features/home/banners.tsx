import type { HostStatus } from '../../../kernel/wire/operator.ts'

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
