import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { EventRow } from '../../../kernel/wire/operator.ts'
import { InertText } from '../../components/inert-text.tsx'
import { ScrollText } from '../../components/scroll-text.tsx'
import { Loaded } from '../../components/states.tsx'
import { useDesk } from '../../lib/desk.tsx'
import { bytes } from '../../lib/format.ts'

/** Of a content, at first and with each further step. */
const pieceBytes = 65_536

interface Part {
  label: string
  text?: string
  hash?: string
}

export const hasContent = (event: EventRow): boolean => partsOf(event).length > 0

/** What was said or given back, in full: claimed words of an agent, a tool or a world, as plain text. */
export function EventContent({ event }: { event: EventRow }) {
  return partsOf(event).map((part) => (
    <section key={`${part.label} ${part.hash ?? ''}`}>
      <h3>{part.label}</h3>
      <EventText {...part} />
    </section>
  ))
}

/** A text, or the content of that hash. */
export function EventText({ label, text, hash }: Part) {
  return hash === undefined ? <Text label={label} text={text ?? ''} /> : <Blob label={label} hash={hash} />
}

function partsOf({ kind, data }: EventRow): Part[] {
  const at = (name: string) => (typeof data[name] === 'string' ? (data[name] as string) : undefined)
  const part = (label: string, text: string | undefined, hash?: string | undefined): Part[] =>
    hash !== undefined ? [{ label, hash }] : text === undefined ? [] : [{ label, text: pretty(text) }]
  switch (kind) {
    case 'tool.called':
      return part('Arguments', at('arguments'), at('argumentsBlob'))
    case 'tool.finished':
      return part('Output', at('output'), at('outputBlob'))
    case 'model.called': {
      const output = Array.isArray(data.output) ? (data.output as { hash: string; type: string }[]) : []
      return [
        ...output.map(({ hash, type }, index) => ({ label: `Answer ${index + 1}: ${type}`, hash })),
        ...part('Error', at('error')),
      ]
    }
    case 'job.ended':
      return [
        ...part('Standard output', undefined, at('stdoutBlob')),
        ...part('Standard error', undefined, at('stderrBlob')),
      ]
    case 'artifact.written':
      return part('Value', undefined, at('hash'))
    case 'executor.crashed':
      return part('Standard error', at('stderr'))
    case 'task.created':
      return part('Instruction', at('instruction'))
    case 'proposal.made':
      return [...part('Claim', at('claim')), ...part('Why', at('why'))]
    case 'message.appended':
    case 'note.added':
    case 'event.noted':
    case 'task.steered':
    case 'task.answered':
      return part('Text', at('text'))
    default:
      return []
  }
}

function Blob({ label, hash }: { label: string; hash: string }) {
  const desk = useDesk()
  const [length, setLength] = useState(pieceBytes)
  const query = useQuery({
    queryKey: ['blob', hash, length],
    queryFn: () => desk.events.blob({ hash, length: Math.min(length, 1_048_576) }),
    placeholderData: (before) => before,
  })
  return (
    <Loaded query={query} what="the content" rows={4}>
      {({ text, totalBytes, binary }) =>
        binary ? (
          <p className="muted">{bytes(totalBytes)} that are no text.</p>
        ) : (
          <>
            <Text label={label} text={totalBytes <= length ? pretty(text) : text} />
            {totalBytes > length && (
              <p className="muted">
                The first {bytes(length)} of {bytes(totalBytes)}.{' '}
                {length < 1_048_576 ? (
                  <button type="button" className="button" onClick={() => setLength(length * 4)}>
                    Show more
                  </button>
                ) : (
                  'An export has all of it.'
                )}
              </p>
            )}
          </>
        )
      }
    </Loaded>
  )
}

function Text({ label, text }: { label: string; text: string }) {
  return (
    <ScrollText label={label} className="history-text">
      <InertText text={text} />
    </ScrollText>
  )
}

/** JSON over lines; anything else as it is. */
function pretty(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
