import { useMutation, useQuery } from '@tanstack/react-query'
import { useCallback, useMemo, useState } from 'react'
import type { ProposalDetail } from '../../../kernel/wire/operator.ts'
import { errorText } from '../../components/states.tsx'
import { useDesk } from '../../lib/desk.tsx'
import type { Place as LinePlace } from './diff-view.tsx'
import type { HunkView } from './editor-marks.ts'
import { isRisky, treeRows } from './file-order.ts'
import {
  anchorOf,
  hunkSeen,
  keyOf,
  type Mark,
  nothingSeen,
  type Place,
  placesOf,
  type Seen,
  type Side,
} from './hunks.ts'
import { addRange } from './lines-seen.ts'
import { hunksQuery } from './queries.ts'
import { type Tier, tierOf } from './tiers.ts'
import { type DraftHandle, useDraft } from './use-draft.ts'

/** What one person has seen, marked and written of one proposal, and where they are in it. */
export function useReview(detail: ProposalDetail) {
  const { agent, proposal, revision, files } = detail
  const desk = useDesk()
  const rows = useMemo(() => treeRows(files), [files])
  const order = useMemo(() => rows.flatMap((row) => (row.kind === 'file' ? [row.path] : [])), [rows])
  const hunks = useQuery({ ...hunksQuery(desk, detail), enabled: files.length > 0 })
  const fileHunks = hunks.data
  const places = useMemo(() => placesOf(fileHunks ?? [], order), [fileHunks, order])
  const { draft, change, drop, problem } = useDraft(agent, proposal, revision)
  const [path, setPath] = useState(order[0] ?? null)
  const [opened, setOpened] = useState<ReadonlySet<string>>(() => new Set(order.slice(0, 1)))
  const [currentKey, setCurrentKey] = useState<string | null>(null)
  const [reveal, setReveal] = useState<LinePlace | null>(null)
  const [seen, setSeen] = useState<Readonly<Record<string, Seen>>>({})
  const [huge, setHuge] = useState<ReadonlySet<string>>(() => new Set())
  const [readThrough, setReadThrough] = useState<ReadonlySet<string>>(() => new Set())
  const [note, setNote] = useState<string | null>(null)
  const [cursor, setCursor] = useState<LinePlace | null>(null)
  const looks = useLooks(detail)

  const here = useMemo(() => places.filter((place) => place.path === path), [places, path])
  const current = here.find(({ hunk }) => keyOf(path ?? '', hunk.id) === currentKey) ?? here[0] ?? null
  const markOf = (place: Place): Mark | null => draft.marks[keyOf(place.path, place.hunk.id)] ?? null
  const seenOf = (place: Place) => {
    if (readThrough.has(place.path)) return { lines: 1, of: 1, isWhole: true }
    return hunkSeen(place.hunk, seen[place.path] ?? nothingSeen)
  }
  const { marks } = draft
  const views = useMemo<HunkView[]>(
    () =>
      here.map((place) => ({
        hunk: place.hunk,
        mark: marks[keyOf(place.path, place.hunk.id)] ?? null,
        isCurrent: place === current,
      })),
    [here, marks, current],
  )
  const tierOfPath = (each: string): Tier => {
    const file = files.find((one) => one.path === each)
    return huge.has(each) || !file ? 'huge' : tierOf(file)
  }

  const open = useCallback((next: string | null, line?: LinePlace) => {
    setNote(null)
    setPath(next)
    setCursor(null)
    setReveal(line ?? null)
    if (next !== null) setOpened((before) => (before.has(next) ? before : new Set(before).add(next)))
  }, [])
  const notes = useMemo<Notes>(() => ({ draft, change, open }), [draft, change, open])
  const goTo = (place: Place | undefined) => {
    if (!place) return
    setCurrentKey(keyOf(place.path, place.hunk.id))
    open(place.path, anchorOf(place.hunk))
  }
  const step = (by: number) => {
    const at = current ? places.indexOf(current) : -1
    goTo(places[Math.max(0, Math.min(places.length - 1, currentKey === null && by > 0 ? Math.max(0, at) : at + by))])
  }
  const stepFile = (by: number) => {
    const at = order.indexOf(path ?? '')
    const next = order[Math.max(0, Math.min(order.length - 1, at + by))]
    if (next !== undefined && next !== path) {
      setCurrentKey(null)
      open(next)
    }
  }
  const mark = (to: Mark, place = current) => {
    if (!place) return
    const shown = seenOf(place)
    if (!shown.isWhole && (isRisky(place.hunk.risk) || tierOfPath(place.path) !== 'normal')) {
      setNote(`Read this hunk through first: ${shown.lines} of its ${shown.of} lines were on the screen.`)
      return
    }
    setNote(null)
    const key = keyOf(place.path, place.hunk.id)
    change(({ marks, fallen }) => {
      const { [key]: before, ...rest } = marks
      const { [key]: why, ...others } = fallen
      const next = before === to ? rest : { ...rest, [key]: to }
      return { marks: next, fallen: next[key] === 'rejected' && why !== undefined ? fallen : others }
    })
  }
  /** Why a file does not count as viewed yet; null: it may. */
  const unread = (each: string): string | null => {
    if (!opened.has(each)) return 'Open the file first: only what the diff has shown counts as viewed'
    const tier = tierOfPath(each)
    if (tier === 'huge') return readThrough.has(each) ? null : 'Read all of its parts first'
    if (tier === 'normal') return null
    const own = places.filter((place) => place.path === each)
    const left = own.filter((place) => !seenOf(place).isWhole).length
    if (own.length === 0) return 'Its hunks are not known yet'
    return left === 0 ? null : `Read it through first: ${left} of its ${own.length} hunks were not whole on the screen`
  }
  const setViewed = (each: string, isViewed: boolean): boolean => {
    const why = isViewed ? unread(each) : null
    setNote(why)
    if (why !== null) return false
    looks.set(each, isViewed)
    return true
  }
  const onSeen = useCallback((each: string, side: Side, from: number, to: number) => {
    setSeen((before) => {
      const file = before[each] ?? nothingSeen
      const ranges = addRange(file[side], from, to)
      return ranges === file[side] ? before : { ...before, [each]: { ...file, [side]: ranges } }
    })
  }, [])
  const foundHuge = useCallback((each: string) => setHuge((before) => new Set(before).add(each)), [])
  const foundRead = useCallback((each: string) => setReadThrough((before) => new Set(before).add(each)), [])
  const risky = places.filter(({ hunk }) => isRisky(hunk.risk))

  return {
    rows,
    order,
    places,
    hunks,
    path,
    opened,
    current,
    here,
    /** The hunks of this file as the editor shows them. */
    views,
    reveal,
    cursor,
    note,
    draft,
    change,
    notes,
    drop,
    problem,
    looks,
    seen,
    huge,
    risky,
    riskyLeft: risky.filter((place) => markOf(place) === null).length,
    rejected: places.filter((place) => markOf(place) === 'rejected').length,
    markOf,
    seenOf,
    tierOf: tierOfPath,
    unread,
    open,
    goTo,
    step,
    stepFile,
    mark,
    setViewed,
    setCursor,
    setNote,
    onSeen,
    foundHuge,
    foundRead,
  }
}

export type Review = ReturnType<typeof useReview>

/** The part of it that scrolling does not touch. */
export interface Notes extends Pick<DraftHandle, 'draft' | 'change'> {
  open: (path: string, line?: LinePlace) => void
}

/** What the kernel keeps of files looked through, and at once what was ticked here. */
function useLooks(detail: ProposalDetail) {
  const desk = useDesk()
  const { agent, proposal, revision, files, looked } = detail
  const [own, setOwn] = useState<Readonly<Record<string, boolean>>>({})
  const look = useMutation({
    mutationFn: ({ path, viewed }: { path: string; viewed: boolean }) =>
      desk.proposals.look({ agent, proposal, revision, path, viewed }),
  })
  const isViewed = (path: string) => own[path] ?? looked.some((each) => each.path === path && each.isCurrent)
  return {
    isViewed,
    /** Looked through before, and other bytes now. */
    isChanged: (path: string) => !isViewed(path) && looked.some((each) => each.path === path && !each.isCurrent),
    viewed: files.filter(({ path }) => isViewed(path)).length,
    set: (path: string, viewed: boolean) => {
      setOwn((before) => ({ ...before, [path]: viewed }))
      look.mutate({ path, viewed })
    },
    problem: look.error
      ? `That you have looked through a file is not kept over a reload: ${errorText(look.error)}`
      : null,
  }
}
