import { useEffect } from 'react'
import { Empty, Loaded } from '../../components/states.tsx'
import { useProposal, useProposals } from '../../lib/desk.tsx'
import { useLook } from '../../lib/theme.ts'
import { warmEditor } from './kept-editor.ts'
import { ProposalView } from './proposal-view.tsx'
import { Queue } from './queue.tsx'
import './review.css'

/** What waits for a verdict, and one proposal in full. */
export function ReviewScreen({ agent, proposal }: { agent: string | null; proposal: string | null }) {
  const look = useLook()
  useEffect(() => warmEditor(look), [look])
  if (agent === null || proposal === null) return <ReviewIndex />
  return <One key={`${agent}/${proposal}`} agent={agent} proposal={proposal} />
}

function ReviewIndex() {
  const all = useProposals()
  return (
    <div className="review-index">
      <h1>Review</h1>
      <Loaded query={all} what="the proposals">
        {(list) =>
          list.length === 0 ? (
            <Empty title="Nothing to decide">
              <p className="muted">
                An agent that edits its own policy proposes the edit here. No proposal has been made yet.
              </p>
            </Empty>
          ) : (
            <Queue proposals={list} />
          )
        }
      </Loaded>
    </div>
  )
}

function One({ agent, proposal }: { agent: string; proposal: string }) {
  const query = useProposal(agent, proposal)
  return (
    <Loaded query={query} what={`${proposal} of ${agent}`} rows={12}>
      {(detail) => <ProposalView detail={detail} />}
    </Loaded>
  )
}
