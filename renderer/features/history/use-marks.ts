import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { EventMarks } from '../../../kernel/wire/operator-events.ts'
import { useDesk } from '../../lib/desk.tsx'

/** Notes and labels by the event that they are about. */
export function useMarks(): ReadonlyMap<number, EventMarks> {
  const desk = useDesk()
  const { data } = useQuery({ queryKey: ['marks'], queryFn: () => desk.events.marks() })
  return useMemo(() => new Map((data ?? []).map((marks) => [marks.seq, marks])), [data])
}
