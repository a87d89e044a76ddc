import { queryOptions, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import type { ProposalDetail } from '../../../kernel/wire/operator.ts'
import type { Desk } from '../../lib/connection.ts'
import { proposalQuery, useDesk } from '../../lib/desk.tsx'
import { treeRows } from './file-order.ts'

type Of = Pick<ProposalDetail, 'agent' | 'proposal' | 'revision' | 'base'>

/** One file of a proposal; null: it is not there on that side. */
export interface Sides {
  path: string
  before: string | null
  after: string | null
}

/** Both sides of one file, exactly as stored. */
export function sidesQuery(desk: Desk, { agent, proposal, revision, base }: Of, path: string) {
  return queryOptions({
    queryKey: ['proposal-file', agent, proposal, revision, base, path],
    queryFn: async (): Promise<Sides> => ({ path, ...(await desk.proposals.file({ agent, proposal, path })) }),
  })
}

export function hunksQuery(desk: Desk, { agent, proposal, revision, base }: Of) {
  return queryOptions({
    queryKey: ['proposal-hunks', agent, proposal, revision, base],
    queryFn: () => desk.proposals.hunks({ agent, proposal }),
  })
}

/** The paths of a proposal in the order in which they are shown. */
function pathsOf(files: ProposalDetail['files']): string[] {
  return treeRows(files).flatMap((row) => (row.kind === 'file' ? [row.path] : []))
}

/** Loads what the Review screen shows first of a proposal. What fails here is asked for again, and told, there. */
export function useAhead(): (row: { agent: string; proposal: string }) => void {
  const client = useQueryClient()
  const desk = useDesk()
  return useCallback(
    ({ agent, proposal }) => {
      client
        .fetchQuery(proposalQuery(desk, agent, proposal))
        .then((detail) => {
          if (detail.files.length > 0) void client.prefetchQuery(hunksQuery(desk, detail))
          for (const path of pathsOf(detail.files).slice(0, 2))
            void client.prefetchQuery(sidesQuery(desk, detail, path))
        })
        .catch(() => {})
    },
    [client, desk],
  )
}
