import { useQuery } from '@tanstack/react-query'
import type { ProposalDetail } from '../../../kernel/wire/operator.ts'
import { useDesk } from '../../lib/desk.tsx'

/**
 * The nonce and binding for what is shown now. Asked for anew whenever the page shows something else: other bytes,
 * another active revision, more checks.
 */
export function useView(detail: ProposalDetail) {
  const desk = useDesk()
  const { agent, proposal, revision, active, checks, state } = detail
  return useQuery({
    queryKey: ['view', agent, proposal, revision, active.revision, checks.map((check) => check.seq).join(), state],
    queryFn: () => desk.proposals.view({ agent, proposal }),
    enabled: state === 'ready',
  })
}

export type View = ReturnType<typeof useView>
