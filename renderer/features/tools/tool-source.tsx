import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ToolDetail } from '../../../kernel/wire/operator-tools.ts'
import { InertText } from '../../components/inert-text.tsx'
import { ScrollText } from '../../components/scroll-text.tsx'
import { Loaded } from '../../components/states.tsx'
import { useDesk } from '../../lib/desk.tsx'
import { shortHash } from '../../lib/format.ts'
import { showChord } from '../../lib/keys.ts'
import { DiffLines } from './diff-lines.tsx'
import { diffTexts } from './diff-texts.ts'

interface Props {
  agent: string
  detail: ToolDetail
  isDiff: boolean
  onDiff: (isDiff: boolean) => void
}

/** The source as it runs, or what one version of it changed against the one before. */
export function ToolSource({ agent, detail, isDiff, onDiff }: Props) {
  const [chosen, setChosen] = useState(0)
  const { versions, source } = detail
  const newer = versions[chosen]
  const older = versions[chosen + 1]
  return (
    <section>
      <div className="tools-line">
        <h3>Source</h3>
        {versions.length > 1 && (
          <button type="button" className="button quiet" aria-pressed={isDiff} onClick={() => onDiff(!isDiff)}>
            What changed <kbd>{showChord('d')}</kbd>
          </button>
        )}
      </div>
      {versions.length > 0 && (
        <ul className="tools-versions">
          {versions.map((version, index) => (
            <li key={`${version.activation}-${version.revision}`}>
              <button
                type="button"
                className="chip"
                aria-pressed={isDiff && index === chosen}
                disabled={index === versions.length - 1}
                onClick={() => {
                  setChosen(index)
                  onDiff(true)
                }}
              >
                r{version.activation} <code>{version.hash === null ? 'removed' : shortHash(version.hash)}</code>{' '}
                {version.proposal}
              </button>
            </li>
          ))}
        </ul>
      )}
      {source === null ? (
        <p className="tone-wait">
          ▲ The executor names no file of its tree for it, so there is nothing to read or audit.
        </p>
      ) : isDiff && newer && older ? (
        <Diff agent={agent} tool={detail.tool} from={older.revision} to={newer.revision} />
      ) : (
        <ScrollText label={`Source of ${detail.tool}`} className="tools-block">
          <InertText text={source} />
        </ScrollText>
      )}
    </section>
  )
}

function Diff({ agent, tool, from, to }: { agent: string; tool: string; from: string; to: string }) {
  const desk = useDesk()
  const query = useQuery({
    queryKey: ['tool-source', agent, tool, from, to],
    queryFn: async () => {
      const of = (revision: string) => desk.tools.source({ agent, tool, revision })
      const [before, after] = await Promise.all([of(from), of(to)])
      return diffTexts(before.text ?? '', after.text ?? '')
    },
  })
  return (
    <Loaded query={query} what="the change" rows={4}>
      {(diff) =>
        diff === null ? (
          <p className="muted">The same text, or too much changed to compare.</p>
        ) : (
          <DiffLines label={`Change of ${tool}`} diff={diff} />
        )
      }
    </Loaded>
  )
}
