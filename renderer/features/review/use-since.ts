import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { ProposalDetail } from '../../../kernel/wire/operator.ts'
import { useDesk } from '../../lib/desk.tsx'

export interface Since {
  /** Which proposal it is compared with; null: there was none before. */
  from: string | null
  isOn: boolean
  set: (isOn: boolean) => void
  /** Files of that revision by path; null until they are there. */
  before: ReadonlyMap<string, string> | null
  textOf: (path: string) => string | null
  /** Files that differ between the two; null while not asked. */
  changed: ReadonlySet<string> | null
  error: unknown
}

/** What has changed since the proposal that was turned down or returned before this one. */
export function useSince({ predecessor, revision, files }: ProposalDetail): Since {
  const desk = useDesk()
  const [isOn, set] = useState(false)
  const earlier = predecessor?.revision ?? null
  const query = useQuery({
    queryKey: ['revision-files', earlier, revision],
    queryFn: async () => {
      const [old, now] = await Promise.all([
        desk.revisions.files({ revision: earlier ?? '' }),
        desk.revisions.files({ revision }),
      ])
      return { old: mapOf(old), now: mapOf(now) }
    },
    enabled: isOn && earlier !== null,
  })
  const changed = useMemo(() => {
    const { old, now } = query.data ?? {}
    if (!isOn || !old || !now) return null
    return new Set(files.map(({ path }) => path).filter((path) => old.get(path) !== now.get(path)))
  }, [isOn, query.data, files])
  return {
    from: predecessor?.proposal ?? null,
    isOn,
    set,
    before: query.data?.old ?? null,
    textOf: (path) => query.data?.old.get(path) ?? null,
    changed,
    error: query.error,
  }
}

function mapOf(files: { path: string; text: string }[]): ReadonlyMap<string, string> {
  return new Map(files.map(({ path, text }) => [path, text]))
}
