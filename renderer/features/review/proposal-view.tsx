import { type CSSProperties, useCallback, useState } from 'react'
import type { ProposalDetail } from '../../../kernel/wire/operator.ts'
import { errorText } from '../../components/states.tsx'
import { useKeys } from '../../lib/keys.ts'
import type { Place } from './diff-view.tsx'
import { Evidence } from './evidence.tsx'
import { FileDiff } from './file-diff.tsx'
import { FileTree } from './file-tree.tsx'
import { Head } from './head.tsx'
import { anchorOf } from './hunks.ts'
import { Divider, usePanes } from './panes.tsx'
import { useDiffSettings } from './settings.ts'
import { useReview } from './use-review.ts'
import { useSince } from './use-since.ts'
import { useView } from './use-view.ts'
import { VerdictBar } from './verdict-bar.tsx'

const splitWords = 'Split this into smaller proposals, each of one idea and below 200 changed lines.'

/** One proposal: what changes, what was measured, what is claimed, and the verdict. */
export function ProposalView({ detail }: { detail: ProposalDetail }) {
  const [settings, setSettings] = useDiffSettings()
  const [isEditing, setEditing] = useState(false)
  const [composing, setComposing] = useState<Place | null>(null)
  const review = useReview(detail)
  const since = useSince(detail)
  const panes = usePanes()
  const view = useView(detail)
  const isOpen = detail.state === 'ready' || detail.state === 'checking'
  const { path, current, cursor } = review
  const leave = (action: () => void) => () => {
    setEditing(false)
    setComposing(null)
    action()
  }
  useKeys({
    j: leave(() => review.step(1)),
    k: leave(() => review.step(-1)),
    n: leave(() => review.stepFile(1)),
    p: leave(() => review.stepFile(-1)),
    a: () => isOpen && review.mark('accepted'),
    x: () => isOpen && review.mark('rejected'),
    c: () => {
      if (path !== null && isOpen)
        setComposing(cursor ?? (current ? anchorOf(current.hunk) : { side: 'after', line: 1 }))
    },
    v: () => {
      if (path === null || !isOpen) return
      if (review.setViewed(path, true)) leave(() => review.stepFile(1))()
    },
    w: () => setSettings({ ignoreWhitespace: !settings.ignoreWhitespace }),
    f: () => setSettings({ hideUnchanged: !settings.hideUnchanged }),
    e: () => {
      if (path !== null && isOpen && !since.isOn && review.tierOf(path) !== 'huge') setEditing(!isEditing)
    },
    m: () => setSettings({ moves: !settings.moves }),
    '[': () => panes.fold('files'),
    ']': () => panes.fold('evidence'),
    t: () => document.querySelector<HTMLElement>('.review-evidence summary')?.focus(),
  })
  const { change } = review
  const askToSplit = useCallback(() => {
    change(({ reason }) => ({ reason: reason.trim() === '' ? splitWords : reason }))
    document.querySelector<HTMLElement>('[data-testid="reject-reason"]')?.focus()
  }, [change])
  return (
    <div className="review">
      <Head detail={detail} onSplit={askToSplit} />
      <div
        className="review-body"
        data-folded={(['files', 'evidence'] as const).filter((each) => panes.isFolded[each]).join(' ') || undefined}
        style={{ '--files': `${panes.widths.files}px`, '--evidence': `${panes.widths.evidence}px` } as CSSProperties}
      >
        {!panes.isFolded.files && <FileTree review={review} isOpen={isOpen} since={since.changed} />}
        <Divider pane="files" panes={panes} />
        <section className="review-diff" data-testid="review-diff" aria-label="Diff">
          {since.error !== null && since.isOn && (
            <p className="tone-bad review-note">✗ The earlier revision could not be loaded: {errorText(since.error)}</p>
          )}
          {path === null ? (
            <p className="review-note muted">
              {detail.problems.length > 0 ? 'Nothing was stored: the problems say why.' : 'No file changes.'}
            </p>
          ) : (
            <FileDiff
              detail={detail}
              path={path}
              review={review}
              settings={settings}
              onSettings={setSettings}
              isOpen={isOpen}
              isEditing={isEditing}
              onEditing={setEditing}
              composing={composing}
              onComment={setComposing}
              since={since}
              panes={panes}
            />
          )}
        </section>
        <Divider pane="evidence" panes={panes} />
        {!panes.isFolded.evidence && <Evidence detail={detail} review={review.notes} isOpen={isOpen} />}
      </div>
      <VerdictBar detail={detail} view={view} review={review} />
    </div>
  )
}
