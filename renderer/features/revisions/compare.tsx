import { useQuery } from '@tanstack/react-query'
import type { RevisionRow } from '../../../kernel/wire/operator.ts'
import { InertText } from '../../components/inert-text.tsx'
import { ScrollText } from '../../components/scroll-text.tsx'
import { Loaded } from '../../components/states.tsx'
import { useDesk } from '../../lib/desk.tsx'
import { costPerUnit, money, share, shortHash, signed, whole } from '../../lib/format.ts'

/** Two activations: their figures side by side, then what differs in their content. */
export function Compare({ older, newer }: { older: RevisionRow; newer: RevisionRow }) {
  const desk = useDesk()
  const query = useQuery({
    queryKey: ['compare', older.revision, newer.revision],
    queryFn: () => desk.revisions.compare({ from: older.revision, to: newer.revision }),
  })
  return (
    <section className="panel" aria-label="Compare" data-testid="compare">
      <header>
        <h2>
          r{older.activation} → r{newer.activation}
        </h2>
        <span className="muted">
          <code>{shortHash(older.revision)}</code> → <code>{shortHash(newer.revision)}</code>
        </span>
      </header>
      <div className="compare-figures">
        <Figure name="Steps, n" older={whole(older.steps)} newer={whole(newer.steps)} />
        <Figure name="Cost, sum" older={money(older.costNanoUsd)} newer={money(newer.costNanoUsd)} />
        <Figure name="Gained, sum" older={signed(older.progressDelta)} newer={signed(newer.progressDelta)} />
        <Figure
          name="Cost per unit, ratio of sums"
          older={money(costPerUnit(older.costNanoUsd, older.progressDelta))}
          newer={money(costPerUnit(newer.costNanoUsd, newer.progressDelta))}
        />
        <Figure name="Cached, ratio of sums" older={share(older.cachedShare)} newer={share(newer.cachedShare)} />
      </div>
      <Loaded query={query} what="the comparison" rows={6}>
        {({ files, diff }) =>
          older.revision === newer.revision ? (
            <p className="compare-note muted">The same content, byte for byte.</p>
          ) : (
            <>
              <ChangedFiles files={files} />
              <DiffText diff={diff} />
            </>
          )
        }
      </Loaded>
    </section>
  )
}

function Figure({ name, older, newer }: { name: string; older: string; newer: string }) {
  return (
    <div>
      <h3>{name}</h3>
      {older} → <strong>{newer}</strong>
    </div>
  )
}

type Files = { path: string; change: 'added' | 'changed' | 'removed'; addedLines: number; removedLines: number }[]

export function ChangedFiles({ files }: { files: Files }) {
  if (files.length === 0) return <p className="compare-note muted">No file differs.</p>
  return (
    <ul className="compare-note">
      {files.map((file) => (
        <li key={file.path}>
          <span className="muted">{file.change}</span> <InertText className="mono" text={file.path} />{' '}
          <span className="tone-run">+{file.addedLines}</span> <span className="tone-wait">−{file.removedLines}</span>
        </li>
      ))}
    </ul>
  )
}

const maxLines = 2000

/** A unified diff as inert text, with its signs kept. */
function DiffText({ diff }: { diff: string }) {
  const lines = diff.split('\n')
  return (
    <ScrollText label="Diff" className="compare-diff">
      {lines.slice(0, maxLines).map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines of one text have no identity but their place.
        <div key={index} className={lineClass(line)}>
          <InertText text={line || ' '} />
        </div>
      ))}
      {lines.length > maxLines && (
        <div className="tone-wait">▲ {lines.length - maxLines} more lines are not shown.</div>
      )}
    </ScrollText>
  )
}

function lineClass(line: string): string | undefined {
  if (line.startsWith('+++') || line.startsWith('---') || line.startsWith('@@')) return 'muted'
  if (line.startsWith('+')) return 'line-added'
  return line.startsWith('-') ? 'line-removed' : undefined
}
