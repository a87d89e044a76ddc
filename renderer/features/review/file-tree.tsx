import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useRef } from 'react'
import { InertText } from '../../components/inert-text.tsx'
import { type ChangedFile, isRisky, type TreeRow } from './file-order.ts'
import type { Review } from './use-review.ts'

interface Props {
  review: Review
  /** False once a verdict was given. */
  isOpen: boolean
  /** Of the files shown, those that differ from an earlier revision; null: not asked. */
  since: ReadonlySet<string> | null
}

const changeWords = { added: 'A', changed: 'M', removed: 'D' } as const
const rowHeight = 28
const virtualFrom = 200

/** Changed files by risk, each with whether it has been looked through. */
export function FileTree({ review, isOpen, since }: Props) {
  const { rows, order, looks, riskyLeft, risky } = review
  const row = (each: TreeRow) =>
    each.kind === 'folder' ? (
      <Folder row={each} />
    ) : (
      <File row={each} review={review} isOpen={isOpen} isSame={since !== null && !since.has(each.path)} />
    )
  return (
    <nav className="review-files" aria-label="Changed files">
      <h2 data-testid="viewed-count">
        Viewed {looks.viewed}/{order.length}
        {risky.length > 0 && (
          <span className={riskyLeft > 0 ? 'tone-wait' : 'muted'}>
            {' · '}
            {riskyLeft > 0 ? `▲ high-risk left ${riskyLeft}` : 'high-risk decided'}
          </span>
        )}
      </h2>
      {looks.problem && (
        <p className="tone-bad review-small" role="status">
          ✗ {looks.problem}
        </p>
      )}
      {rows.length > virtualFrom ? (
        <LongList rows={rows} at={rows.findIndex((each) => each.path === review.path)} render={row} />
      ) : (
        <ul>
          {rows.map((each) => (
            <li key={`${each.kind} ${each.path}`}>{row(each)}</li>
          ))}
        </ul>
      )}
    </nav>
  )
}

function LongList(props: { rows: TreeRow[]; at: number; render: (row: TreeRow) => ReactNode }) {
  const { rows, at, render } = props
  const scroller = useRef<HTMLDivElement>(null)
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  })
  useEffect(() => {
    if (at >= 0) list.scrollToIndex(at, { align: 'auto' })
  }, [list, at])
  return (
    <div className="file-scroll" ref={scroller}>
      <ul style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map((item) => {
          const each = rows[item.index]
          return (
            <li key={item.key} style={{ transform: `translateY(${item.start}px)` }}>
              {each && render(each)}
            </li>
          )
        })}
      </ul>
    </div>
  )
}

function Folder({ row }: { row: Extract<TreeRow, { kind: 'folder' }> }) {
  return (
    <div className="file-folder muted" title={row.path}>
      <InertText className="file-name mono" text={`${row.path}/`} />
      <span>{row.files}</span>
    </div>
  )
}

interface FileProps {
  row: Extract<TreeRow, { kind: 'file' }>
  review: Review
  isOpen: boolean
  isSame: boolean
}

function File({ row, review, isOpen, isSame }: FileProps) {
  const { file, path } = row
  const { looks } = review
  const isViewed = looks.isViewed(path)
  const unread = isViewed ? null : review.unread(path)
  const why = isOpen ? unread : 'The proposal takes no verdict any more'
  const tier = review.tierOf(path)
  return (
    <div
      className="file-row"
      aria-current={path === review.path || undefined}
      data-nested={row.folder !== '' || undefined}
      data-same={isSame || undefined}
    >
      <input
        type="checkbox"
        data-testid="file-viewed"
        aria-label={`viewed ${path}`}
        checked={isViewed}
        disabled={!isOpen || unread !== null}
        title={why ?? 'viewed'}
        onChange={(event) => review.setViewed(path, event.target.checked)}
      />
      <button
        type="button"
        className="file-open"
        onClick={() => review.open(path)}
        title={[`${file.change}: ${path}`, ...(file.reasons ?? []), ...(file.tags ?? [])].join('\n')}
      >
        <RiskMark risk={file.risk} />
        <span className="muted" aria-hidden="true">
          {changeWords[file.change]}
        </span>
        <span className="sr">
          {file.change}
          {file.risk ? `, ${file.risk} risk` : ''}
        </span>
        <span className="file-name mono">
          {row.folder !== '' && (
            <span className="sr">
              <InertText text={`${row.folder}/`} />
            </span>
          )}
          <InertText text={row.name} />
        </span>
        {looks.isChanged(path) && (
          <span className="tone-stale" title="You had looked through it: it has changed since">
            ⟳<span className="sr"> changed since you looked</span>
          </span>
        )}
        {(file.tags ?? []).includes('test') && <span className="file-tag">test</span>}
        {tier !== 'normal' && <span className="file-tag">{tier}</span>}
        <span className="added">+{file.addedLines}</span>
        <span className="removed">−{file.removedLines}</span>
      </button>
    </div>
  )
}

/** By shape: ▲ high, ■ medium, □ low. */
function RiskMark({ risk }: { risk: ChangedFile['risk'] }) {
  if (!risk) return null
  const mark = isRisky(risk) ? '▲' : risk === 'MED' ? '■' : '□'
  return (
    <span className={isRisky(risk) ? 'file-risk tone-wait' : 'file-risk muted'} aria-hidden="true">
      {mark}
    </span>
  )
}
