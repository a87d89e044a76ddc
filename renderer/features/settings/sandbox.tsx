import { useQuery } from '@tanstack/react-query'
import type { ExaminedProvider } from '../../../kernel/wire/operator-settings.ts'
import { Empty, LoadError, Loaded } from '../../components/states.tsx'
import { useDesk, useStatus } from '../../lib/desk.tsx'

/** What boxes can be had here, and, on request, what they prevent, as probes inside of them saw. */
export function Sandbox() {
  const status = useStatus()
  const desk = useDesk()
  const examined = useQuery({
    queryKey: ['doctor'],
    queryFn: () => desk.settings.examineSandbox(),
    enabled: false,
  })
  return (
    <>
      <Loaded query={status} what="the state of the sandbox">
        {({ sandbox }) => (
          <section className="panel settings-part" aria-label="Providers">
            <header>
              <h2>Providers</h2>
              <span className="muted">
                new tasks take the first that is available; a task keeps the one it was made with
              </span>
            </header>
            <ul className="settings-rows">
              {(sandbox.providers.length > 0
                ? sandbox.providers
                : [{ name: sandbox.provider ?? 'any', ...sandbox }]
              ).map((one) => (
                <li key={one.name}>
                  <strong>{one.name}</strong>
                  <Availability isAvailable={one.available} />
                  <span>{one.available ? one.detail : (one.reason ?? one.detail)}</span>
                  {one.fix !== null && <code className="settings-fix">{one.fix}</code>}
                </li>
              ))}
            </ul>
          </section>
        )}
      </Loaded>
      <section className="panel settings-part" aria-label="What boxes prevent">
        <header>
          <h2>What boxes prevent</h2>
          <button
            type="button"
            className="button"
            onClick={() => void examined.refetch()}
            disabled={examined.isFetching}
            data-testid="examine"
          >
            {examined.isFetching ? 'Probing every profile…' : 'Probe the boxes'}
          </button>
        </header>
        <div role="status">
          {examined.error && !examined.isFetching ? (
            <LoadError what="the report of the probes" error={examined.error} />
          ) : examined.data ? (
            examined.data.map((one) => <Report key={one.name} one={one} />)
          ) : (
            <Empty title={examined.isFetching ? 'Probing…' : 'Not probed since this page was opened'}>
              <p className="muted">
                Starts a box of each profile and tries what must not be possible in it. It takes some seconds and
                changes nothing.
              </p>
            </Empty>
          )}
        </div>
      </section>
    </>
  )
}

function Availability({ isAvailable }: { isAvailable: boolean }) {
  return isAvailable ? <span className="tone-ok">✓ available</span> : <span className="tone-wait">▲ not available</span>
}

function Report({ one }: { one: ExaminedProvider }) {
  const failed = one.probes.filter(({ holds }) => !holds)
  if (!one.available) return <p className="settings-line muted">{one.name}: not available, so not probed.</p>
  if (one.error !== null)
    return (
      <p className="settings-line tone-bad">
        ✗ {one.name}: the probes did not run: {one.error}
      </p>
    )
  return (
    <>
      <p className={`settings-line ${failed.length === 0 ? 'tone-ok' : 'tone-bad'}`}>
        {failed.length === 0
          ? `✓ ${one.name}: all ${one.probes.length} probes hold`
          : `✗ ${one.name}: ${failed.length} of ${one.probes.length} probes do not hold. Run nothing that you do not trust.`}
      </p>
      <details open={failed.length > 0}>
        <summary>Each probe</summary>
        <div className="settings-scroll">
          <table className="table">
            <thead>
              <tr>
                <th>Result</th>
                <th>Box</th>
                <th>Probe</th>
                <th>Expected</th>
                <th>Saw</th>
              </tr>
            </thead>
            <tbody>
              {[...failed, ...one.probes.filter(({ holds }) => holds)].map(
                ({ holds, profile, probe, expected, saw }) => (
                  <tr key={`${profile} ${probe}`}>
                    <td className={holds ? 'tone-ok' : 'tone-bad'}>{holds ? '✓ holds' : '✗ fails'}</td>
                    <td>{profile}</td>
                    <td>{probe}</td>
                    <td>{expected}</td>
                    <td>{saw}</td>
                  </tr>
                ),
              )}
            </tbody>
          </table>
        </div>
      </details>
    </>
  )
}
