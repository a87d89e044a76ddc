import { InertText } from '../../components/inert-text.tsx'
import { ScrollText } from '../../components/scroll-text.tsx'

const linesShown = 2000

/** A unified diff as inert text, with its signs kept. */
export function DiffLines({ label, diff }: { label: string; diff: string }) {
  const lines = diff.split('\n')
  return (
    <ScrollText label={label} className="tools-block">
      {lines.slice(0, linesShown).map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines of one text have no identity but their place.
        <div key={index} className={lineClass(line)}>
          <InertText text={line || ' '} />
        </div>
      ))}
      {lines.length > linesShown && (
        <div className="tone-wait">▲ {lines.length - linesShown} more lines are not shown.</div>
      )}
    </ScrollText>
  )
}

function lineClass(line: string): string | undefined {
  if (line.startsWith('+++') || line.startsWith('---') || line.startsWith('@@')) return 'muted'
  if (line.startsWith('+')) return 'tools-added'
  return line.startsWith('-') ? 'tools-removed' : undefined
}
