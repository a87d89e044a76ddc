import type { ToolDetail } from '../../../kernel/wire/operator-tools.ts'
import { InertText } from '../../components/inert-text.tsx'
import { ScrollText } from '../../components/scroll-text.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { hrefOf } from '../../lib/route.ts'

/** Calls as they went, good and failing ones, each by its event. */
export function Samples({ samples }: { samples: ToolDetail['samples'] }) {
  return (
    <section>
      <h3>Calls, the latest good and failing ones</h3>
      {samples.length === 0 && <p className="muted">Nothing has called it yet.</p>}
      {samples.map((sample) => (
        <details key={sample.seq} className="tools-sample">
          <summary>
            {sample.outcome === 'ok' ? (
              <span className="tone-ok">✓ ok</span>
            ) : (
              <span className="tone-bad">✗ {sample.outcome}</span>
            )}{' '}
            <InertText className="mono" text={sample.arguments.slice(0, 80)} />{' '}
            <span className="muted">
              event {sample.seq}, <TimeAgo at={sample.at} />
            </span>
          </summary>
          <ScrollText label={`Arguments of event ${sample.seq}`} className="tools-block">
            <InertText text={sample.arguments} />
          </ScrollText>
          <ScrollText label={`Output of event ${sample.seq}`} className="tools-block">
            <InertText text={sample.output} />
          </ScrollText>
          {sample.task && <a href={hrefOf({ screen: 'live', task: sample.task })}>{sample.task} in Live</a>}
        </details>
      ))}
    </section>
  )
}
