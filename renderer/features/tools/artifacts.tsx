import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { ArtifactRow, ArtifactVersionRow } from '../../../kernel/wire/operator-tools.ts'
import { InertText } from '../../components/inert-text.tsx'
import { ScrollText } from '../../components/scroll-text.tsx'
import { Empty, Loaded } from '../../components/states.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { useDesk } from '../../lib/desk.tsx'
import { bytes, shortHash } from '../../lib/format.ts'
import { useKeys } from '../../lib/keys.ts'
import { useListKeys } from '../../lib/list-keys.ts'
import { hrefOf } from '../../lib/route.ts'
import { DiffLines } from './diff-lines.tsx'
import { diffTexts } from './diff-texts.ts'

/** Memory, skills, summaries and whatever else an agent keeps, each with all of its versions. */
export function Artifacts({ agent }: { agent: string }) {
  const desk = useDesk()
  const query = useQuery({ queryKey: ['artifacts', agent], queryFn: () => desk.artifacts.list({ agent }) })
  return (
    <Loaded query={query} what={`what ${agent} keeps`} rows={6}>
      {(rows) =>
        rows.length === 0 ? (
          <Empty title="Nothing kept yet">
            <p className="muted">
              Notes that {agent} keeps for later tasks appear here, with every version and the task that wrote it.
            </p>
          </Empty>
        ) : (
          <Table agent={agent} rows={rows} />
        )
      }
    </Loaded>
  )
}

function Table({ agent, rows }: { agent: string; rows: ArtifactRow[] }) {
  const [open, setOpen] = useState<string | null>(null)
  const marked = useListKeys(rows.length, (index) => setOpen(rows[index]?.name ?? null))
  useEffect(() => {
    if (marked >= 0) document.querySelector<HTMLElement>('tr[data-selected] .tools-name')?.focus()
  }, [marked])
  return (
    <div className="tools-body" data-open={open !== null || undefined}>
      <section className="panel tools-list" aria-label="Artifacts">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must take the focus, or keys cannot scroll it. */}
        <section className="tools-scroll" aria-label="Table of artifacts" tabIndex={0}>
          <table className="table">
            <thead>
              <tr>
                <th>Name</th>
                <th>Kind</th>
                <th className="figure">Versions</th>
                <th className="figure">Size</th>
                <th className="tools-wide">By</th>
                <th className="tools-wide">Task</th>
                <th>Last written</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row, index) => (
                <tr
                  key={row.name}
                  data-testid="artifact-row"
                  data-selected={index === marked || undefined}
                  data-opened={open === row.name || undefined}
                >
                  <th scope="row">
                    <button
                      type="button"
                      className="tools-name"
                      aria-expanded={open === row.name}
                      onClick={() => setOpen(row.name)}
                    >
                      <InertText text={row.name} />
                    </button>
                  </th>
                  <td>{row.kind}</td>
                  <td className="figure">{row.versions}</td>
                  <td className="figure">{bytes(row.sizeBytes)}</td>
                  <td className="tools-wide">{row.by}</td>
                  <td className="tools-wide">
                    {row.task === null ? '—' : <a href={hrefOf({ screen: 'live', task: row.task })}>{row.task}</a>}
                  </td>
                  <td className="tools-nowrap">
                    <TimeAgo at={row.at} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      </section>
      {open !== null && <Versions key={open} agent={agent} name={open} onClose={() => setOpen(null)} />}
    </div>
  )
}

function Versions({ agent, name, onClose }: { agent: string; name: string; onClose: () => void }) {
  const desk = useDesk()
  const [chosen, setChosen] = useState(0)
  const [isDiff, setDiff] = useState(false)
  useKeys({ escape: onClose, d: () => setDiff((before) => !before) })
  const query = useQuery({
    queryKey: ['artifacts', agent, name],
    queryFn: () => desk.artifacts.versions({ agent, name }),
  })
  return (
    <aside className="panel tools-drawer" aria-label={`Artifact ${name}`} data-testid="artifact-drawer">
      <header>
        <h2>
          <InertText text={name} />
        </h2>
        <button type="button" className="button quiet tools-close" onClick={onClose} aria-label="Close">
          ✕
        </button>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must take the focus, or keys cannot scroll it. */}
      <section className="tools-drawer-body" aria-label={`About ${name}`} tabIndex={0}>
        <Loaded query={query} what="its versions" rows={4}>
          {(versions) => (
            <>
              <ul className="tools-versions">
                {versions.map((version, index) => (
                  <li key={version.version}>
                    <button
                      type="button"
                      className="chip"
                      aria-pressed={index === chosen}
                      onClick={() => setChosen(index)}
                    >
                      v{version.version} <code>{shortHash(version.hash)}</code> {bytes(version.sizeBytes)}
                    </button>
                  </li>
                ))}
              </ul>
              <Version
                agent={agent}
                version={versions[chosen]}
                before={versions[chosen + 1]}
                isDiff={isDiff}
                onDiff={setDiff}
              />
            </>
          )}
        </Loaded>
      </section>
    </aside>
  )
}

interface VersionProps {
  agent: string
  version: ArtifactVersionRow | undefined
  before: ArtifactVersionRow | undefined
  isDiff: boolean
  onDiff: (isDiff: boolean) => void
}

function Version({ agent, version, before, isDiff, onDiff }: VersionProps) {
  const text = useText(agent, version)
  const earlier = useText(agent, before, isDiff)
  if (version === undefined) return null
  return (
    <>
      <p className="tools-line">
        <span className="muted">
          written by {version.by}
          {version.task && ' in '}
          {version.task && <a href={hrefOf({ screen: 'live', task: version.task })}>{version.task}</a>}
          {version.revision && (
            <>
              , revision <code>{shortHash(version.revision)}</code>
            </>
          )}
          , event {version.seq}, <TimeAgo at={version.at} />
        </span>
        {before && (
          <button type="button" className="button quiet" aria-pressed={isDiff} onClick={() => onDiff(!isDiff)}>
            What changed <kbd>D</kbd>
          </button>
        )}
      </p>
      <Loaded query={text} what="its text" rows={4}>
        {(now) => (
          <>
            {now.isCut && <p className="tone-wait">▲ Only the first MiB of {bytes(now.totalBytes)} is shown.</p>}
            {isDiff && earlier.data ? (
              <DiffLines
                label={`Change of version ${version.version}`}
                diff={diffTexts(earlier.data.text, now.text) ?? 'The same text, or too much changed to compare.'}
              />
            ) : (
              <ScrollText label={`Version ${version.version}`} className="tools-block">
                <InertText text={now.text} />
              </ScrollText>
            )}
          </>
        )}
      </Loaded>
    </>
  )
}

function useText(agent: string, version: ArtifactVersionRow | undefined, isOn = true) {
  const desk = useDesk()
  return useQuery({
    queryKey: ['artifact', agent, version?.name, version?.version],
    queryFn: () => desk.artifacts.read({ agent, name: version?.name ?? '', version: version?.version ?? 1 }),
    enabled: version !== undefined && isOn,
  })
}
