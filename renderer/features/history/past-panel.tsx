import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { InertText } from '../../components/inert-text.tsx'
import { Loaded } from '../../components/states.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { useDesk } from '../../lib/desk.tsx'
import { bytes, shortHash } from '../../lib/format.ts'
import { hrefOf } from '../../lib/route.ts'
import { EventText } from './event-content.tsx'
import { ForkDialog } from './fork-dialog.tsx'
import { Fact } from './inspector-fact.tsx'

const shownArtifacts = 8

/** Policy, artifacts and snapshot as they were at this event: what a fork from it stands on. */
export function PastPanel({ seq, agent }: { seq: number; agent: string }) {
  const desk = useDesk()
  const query = useQuery({ queryKey: ['history-past', seq], queryFn: () => desk.events.past({ seq }) })
  const [shown, setShown] = useState<'policy' | string | null>(null)
  const [isForking, setForking] = useState(false)
  const [isWhole, setWhole] = useState(false)
  return (
    <section data-testid="past">
      <h3>At this event</h3>
      <Loaded query={query} what="what there was then" rows={3}>
        {({ active, artifacts, snapshot, task }) => (
          <>
            <dl className="history-facts">
              <Fact name="Policy">
                {active === null ? (
                  'none yet'
                ) : (
                  <>
                    <a href={hrefOf({ screen: 'revisions', agent })}>
                      r{active.activation} <span className="mono">{shortHash(active.revision)}</span>
                    </a>{' '}
                    since <a href={hrefOf({ screen: 'history', seq: active.seq })}>event {active.seq}</a>{' '}
                    <button
                      type="button"
                      className="link"
                      aria-expanded={shown === 'policy'}
                      onClick={() => setShown(shown === 'policy' ? null : 'policy')}
                    >
                      {shown === 'policy' ? 'hide its files' : 'its files'}
                    </button>
                  </>
                )}
              </Fact>
              <Fact name="Snapshot">
                {snapshot === null ? (
                  'none by then'
                ) : (
                  <>
                    <InertText text={snapshot.name} /> <TimeAgo at={snapshot.at} className="muted" />
                    {snapshot.hasWorld && ', with the world'}{' '}
                    <a href={hrefOf({ screen: 'history', seq: snapshot.seq })}>event {snapshot.seq}</a>
                    {task && (
                      <>
                        {' '}
                        <code>
                          snapshots {task} --restore {snapshot.name}
                        </code>
                      </>
                    )}
                  </>
                )}
              </Fact>
              <Fact name="Artifacts">{artifacts.length === 0 ? 'none by then' : `${artifacts.length}`}</Fact>
            </dl>
            {shown === 'policy' && active && <PolicyFiles revision={active.revision} />}
            <ul className="history-artifacts">
              {(isWhole ? artifacts : artifacts.slice(0, shownArtifacts)).map((artifact) => (
                <li key={artifact.name}>
                  <button
                    type="button"
                    className="link"
                    aria-expanded={shown === artifact.hash}
                    onClick={() => setShown(shown === artifact.hash ? null : artifact.hash)}
                  >
                    <InertText text={artifact.name} />
                  </button>{' '}
                  <span className="muted">
                    version {artifact.version}, {bytes(artifact.sizeBytes)}
                  </span>
                  {shown === artifact.hash && <EventText label={artifact.name} hash={artifact.hash} />}
                </li>
              ))}
            </ul>
            {artifacts.length > shownArtifacts && !isWhole && (
              <button type="button" className="button" onClick={() => setWhole(true)}>
                All {artifacts.length}
              </button>
            )}
            {active && (
              <button type="button" className="button" onClick={() => setForking(true)} data-testid="fork">
                Fork from here…
              </button>
            )}
            {isForking && active && (
              <ForkDialog
                agent={agent}
                seq={seq}
                activation={active.activation}
                artifacts={artifacts.length}
                onClose={() => setForking(false)}
              />
            )}
          </>
        )}
      </Loaded>
    </section>
  )
}

function PolicyFiles({ revision }: { revision: string }) {
  const desk = useDesk()
  const query = useQuery({ queryKey: ['revision-files', revision], queryFn: () => desk.revisions.files({ revision }) })
  const [path, setPath] = useState<string | null>(null)
  return (
    <Loaded query={query} what="the policy's files" rows={4}>
      {(files) => (
        <ul className="history-artifacts">
          {files.map((file) => (
            <li key={file.path}>
              <button
                type="button"
                className="link"
                aria-expanded={path === file.path}
                onClick={() => setPath(path === file.path ? null : file.path)}
              >
                <InertText text={file.path} />
              </button>
              {path === file.path && <EventText label={file.path} text={file.text} />}
            </li>
          ))}
        </ul>
      )}
    </Loaded>
  )
}
