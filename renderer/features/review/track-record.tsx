import { useQuery } from '@tanstack/react-query'
import { useDesk } from '../../lib/desk.tsx'
import { hrefOf } from '../../lib/route.ts'

/** What earlier changes of this agent came to, as measured after they took effect. */
export function TrackRecord({ agent }: { agent: string }) {
  const desk = useDesk()
  const effects = useQuery({
    queryKey: ['revisions', agent, 'effects'],
    queryFn: () => desk.revisions.effects({ agent }),
  })
  const measured = (effects.data ?? []).filter((each) => each.verdict !== 'not-measured' && each.activation > 1)
  const count = (verdict: string) => measured.filter((each) => each.verdict === verdict).length
  return (
    <p className="track-record">
      <span className="muted">Track record: </span>
      {effects.error ? (
        <span className="muted">not available</span>
      ) : measured.length === 0 ? (
        <span className="muted">no earlier change was measured</span>
      ) : (
        <a href={hrefOf({ screen: 'revisions', agent })}>
          {count('better')} better, {count('worse')} worse, {count('inconclusive')} inconclusive (n={measured.length})
        </a>
      )}
    </p>
  )
}
