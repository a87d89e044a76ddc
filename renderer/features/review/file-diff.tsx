import { useQueries, useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import type { Comment } from '../../../kernel/wire/events.ts'
import type { ProposalDetail } from '../../../kernel/wire/operator.ts'
import { InertText } from '../../components/inert-text.tsx'
import { Loaded } from '../../components/states.tsx'
import { useDesk } from '../../lib/desk.tsx'
import { CommentBox } from './comment-box.tsx'
import { DiffView, type Place } from './diff-view.tsx'
import type { HunkView } from './editor-marks.ts'
import { HugeFile } from './huge-file.tsx'
import { HunkBar } from './hunk-bar.tsx'
import { anchorOf, whitespaceChanges } from './hunks.ts'
import type { Panes } from './panes.tsx'
import { type Sides, sidesQuery } from './queries.ts'
import type { DiffSettings } from './settings.ts'
import { tierOf } from './tiers.ts'
import type { Review } from './use-review.ts'
import type { Since } from './use-since.ts'

interface Props {
  detail: ProposalDetail
  path: string
  review: Review
  settings: DiffSettings
  onSettings: (change: Partial<DiffSettings>) => void
  isOpen: boolean
  isEditing: boolean
  onEditing: (isEditing: boolean) => void
  /** Where a comment is being written. */
  composing: Place | null
  onComment: (place: Place | null) => void
  since: Since
  panes: Panes
}

const noComments: readonly Comment[] = []
const noHunks: readonly HunkView[] = []
const noSides: readonly Sides[] = []

/** What can be compared ahead without keeping the file that is asked for waiting. */
function loadedOf(results: readonly { data: Sides | undefined }[]): Sides[] {
  return results.flatMap(({ data }) => (data && isQuick(data) ? [data] : []))
}

function isQuick({ before, after }: Sides): boolean {
  return (before?.length ?? 0) + (after?.length ?? 0) < 200_000
}

/** Both sides of one file, exactly as stored. */
export function FileDiff(props: Props) {
  const { detail, path, review, settings, isOpen, isEditing, composing, onComment, since } = props
  const [canSplit, setCanSplit] = useState(true)
  const desk = useDesk()
  // The file before stays in the editor, unseen, until this one is there: so the editor is not made anew.
  const sides = useQuery({ ...sidesQuery(desk, detail, path), placeholderData: (shown: Sides | undefined) => shown })
  const at = review.order.indexOf(path)
  const neighbours = [at + 1, at + 2, at - 1].map((each) => review.order[each]).filter((each) => each !== undefined)
  const ahead = useQueries({
    queries: neighbours.map((each) => ({
      ...sidesQuery(desk, detail, each),
      enabled: sides.isSuccess && !sides.isPlaceholderData,
    })),
    combine: loadedOf,
  })
  const isHere = sides.data?.path === path
  const file = detail.files.find((each) => each.path === path)
  const tier = file && sides.data && isHere ? tierOf(file, [sides.data.before, sides.data.after]) : null
  const { foundHuge, foundRead, onSeen, here, current, draft } = review
  useEffect(() => {
    if (tier === 'huge') foundHuge(path)
  }, [tier, path, foundHuge])
  const isSince = since.isOn && since.before !== null
  const comments = useMemo(
    () => [...draft.comments, ...detail.comments].filter((each) => each.path === path),
    [draft.comments, detail.comments, path],
  )
  const edited = draft.edits[path]
  const hidden = useMemo(() => {
    const [before, after] = [sides.data?.before ?? null, sides.data?.after ?? null]
    if (!settings.ignoreWhitespace || before === null || after === null) return 0
    return whitespaceChanges(
      here.map((place) => place.hunk),
      before,
      after,
    )
  }, [settings.ignoreWhitespace, sides.data, here])
  const comment = () => onComment(review.cursor ?? (current ? anchorOf(current.hunk) : { side: 'after', line: 1 }))
  return (
    <>
      <Bar {...props} canSplit={canSplit} hidden={hidden} isHuge={tier === 'huge'} />
      <HunkBar review={review} isOpen={isOpen} onComment={comment} />
      <Loaded query={sides} what={path} rows={10}>
        {({ path: shownPath, before, after }) => (
          <>
            {isHere && before !== null && before === after && (
              <p className="review-note muted">Both sides are the same.</p>
            )}
            {tier === 'huge' && file && !isSince ? (
              <HugeFile
                key={path}
                file={file}
                before={before}
                after={after}
                reveal={review.reveal}
                onWhole={() => foundRead(path)}
              />
            ) : (
              <DiffView
                path={shownPath}
                ahead={isSince ? noSides : ahead}
                isHidden={!isHere}
                before={isSince ? since.textOf(shownPath) : before}
                after={after}
                edited={isSince || !isHere ? undefined : edited}
                isEditing={isEditing && !isSince && isHere}
                isLarge={tier !== null && tier !== 'normal'}
                settings={settings}
                hunks={isSince || !isHere ? noHunks : review.views}
                comments={isHere ? comments : noComments}
                reveal={isHere ? review.reveal : null}
                onEdit={(text) => setEdit(review, path, text, after)}
                onSeen={(side, from, to) => {
                  if (!isSince && isHere) onSeen(path, side, from, to)
                }}
                onCursor={review.setCursor}
                onSplit={setCanSplit}
              />
            )}
          </>
        )}
      </Loaded>
      {composing && (
        <CommentBox
          key={`${path} ${composing.side} ${composing.line}`}
          path={path}
          place={composing}
          review={review}
          onClose={() => onComment(null)}
        />
      )}
    </>
  )
}

/** What equals the proposed text is no edit. */
function setEdit(review: Review, path: string, text: string, after: string | null): void {
  review.change(({ edits }) => {
    const { [path]: _, ...rest } = edits
    return { edits: text === after ? rest : { ...rest, [path]: text } }
  })
}

function Bar(props: Props & { canSplit: boolean; hidden: number; isHuge: boolean }) {
  const { path, review, settings, onSettings, isOpen, isEditing, onEditing, canSplit, hidden, isHuge, since, panes } =
    props
  const isSplit = settings.sideBySide && canSplit
  const isViewed = review.looks.isViewed(path)
  const edited = review.draft.edits[path]
  return (
    <div className="review-diff-bar">
      <Toggle
        name="files"
        title="The list of files, beside the diff ([)"
        isOn={!panes.isFolded.files}
        onChange={() => panes.fold('files')}
      />
      <InertText className="mono review-path" text={path} />
      <span className="review-toggles">
        {since.from !== null && (
          <Toggle
            name={`since ${since.from}`}
            title="Compare with the revision that was turned down, in place of the base"
            isOn={since.isOn}
            onChange={since.set}
          />
        )}
        <Toggle
          name="split"
          title={canSplit ? 'Side by side' : 'One column: there is only one side, or no room for two'}
          isOn={isSplit}
          isDisabled={!canSplit}
          onChange={(sideBySide) => onSettings({ sideBySide })}
        />
        <Toggle
          name={isSplit ? 'moves (M)' : 'moves off'}
          title={isSplit ? 'Text that moved is marked as moved' : 'Moves are found only side by side'}
          isOn={settings.moves && isSplit}
          isDisabled={!isSplit}
          onChange={(moves) => onSettings({ moves })}
        />
        <Toggle
          name="wrap"
          title="Long lines go on below"
          isOn={settings.wrap}
          onChange={(wrap) => onSettings({ wrap })}
        />
        <Toggle
          name="full file (F)"
          isOn={!settings.hideUnchanged}
          onChange={(on) => onSettings({ hideUnchanged: !on })}
        />
        <Toggle
          name={settings.ignoreWhitespace ? `▲ ${hidden} whitespace changes hidden` : 'whitespace (W)'}
          isOn={!settings.ignoreWhitespace}
          onChange={(on) => onSettings({ ignoreWhitespace: !on })}
        />
        {edited !== undefined && isOpen && (
          <button
            type="button"
            className="feed-filter"
            data-testid="drop-edit"
            onClick={() => {
              onEditing(false)
              review.change(({ edits }) => {
                const { [path]: _, ...rest } = edits
                return { edits: rest }
              })
            }}
          >
            drop my edit
          </button>
        )}
        <Toggle
          name={isEditing ? '✎ editing' : edited === undefined ? 'edit (E)' : '✎ yours (E)'}
          title="Change the proposed text. It becomes a revision of its own, and its checks run again"
          isOn={isEditing}
          isDisabled={!isOpen || isHuge || since.isOn}
          onChange={onEditing}
        />
        <Toggle
          name={isViewed ? '✓ viewed' : 'mark viewed (V)'}
          isOn={isViewed}
          isDisabled={!isOpen}
          onChange={(on) => review.setViewed(path, on)}
        />
        <Toggle
          name="evidence"
          title="What was measured and claimed, beside the diff (])"
          isOn={!panes.isFolded.evidence}
          onChange={() => panes.fold('evidence')}
        />
      </span>
    </div>
  )
}

interface ToggleProps {
  name: string
  title?: string
  isOn: boolean
  isDisabled?: boolean
  onChange: (isOn: boolean) => void
}

function Toggle({ name, title, isOn, isDisabled = false, onChange }: ToggleProps) {
  return (
    <button
      type="button"
      className="feed-filter"
      title={title}
      aria-pressed={isOn}
      disabled={isDisabled}
      onClick={() => onChange(!isOn)}
    >
      {name}
    </button>
  )
}
