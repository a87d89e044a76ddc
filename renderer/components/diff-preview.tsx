import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { ProposalSummary } from '../../kernel/wire/operator.ts'
import { useDesk } from '../lib/desk.tsx'
import { type PreviewFile, previewOf } from '../lib/diff-preview.ts'
import './diff-preview.css'
import { InertText } from './inert-text.tsx'
import { errorText, Skeleton } from './states.tsx'

const signs = { insert: '+', delete: '−', context: ' ' } as const

/** The beginning of what a proposal changes, read-only. A verdict needs the whole of it, on Review. */
export function DiffPreview({ of }: { of: Pick<ProposalSummary, 'proposal' | 'base' | 'revision'> }) {
  const desk = useDesk()
  const query = useQuery({
    queryKey: ['compare', of.base, of.revision],
    queryFn: () => desk.revisions.compare({ from: of.base, to: of.revision }),
  })
  const preview = useMemo(() => (query.data ? previewOf(query.data.diff) : null), [query.data])
  return (
    <section className="panel preview" aria-label={`Preview of ${of.proposal}`} data-testid="diff-preview">
      <header>
        <h2>{of.proposal}</h2>
        <span className="muted">preview: open it to decide</span>
        {preview?.hasHidden && (
          <strong className="tone-wait">▲ holds characters that hide or reorder text: shown as tokens</strong>
        )}
      </header>
      {query.error ? (
        <p className="preview-note tone-bad">✗ The preview could not be loaded: {errorText(query.error)}</p>
      ) : preview === null ? (
        <Skeleton rows={4} />
      ) : preview.isTooLong ? (
        <p className="preview-note muted">Too large for a preview.</p>
      ) : (
        preview.files.map((file) => <File key={file.name} file={file} />)
      )}
      {preview !== null && preview.filesLeft > 0 && (
        <p className="preview-note muted">{preview.filesLeft} more files are not shown.</p>
      )}
    </section>
  )
}

function File({ file }: { file: PreviewFile }) {
  return (
    <div className="preview-file">
      <p className="preview-name">
        <InertText className="mono" text={file.name} /> <span className="preview-added">+{file.added}</span>{' '}
        <span className="preview-removed">−{file.removed}</span>
        {file.isTooBig && <span className="muted"> too large for a preview</span>}
      </p>
      {file.blocks.map((block) => (
        <div key={block.header} className="preview-block mono">
          {block.lines.map((line, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines of one text have no identity but their place.
            <div key={index} className={`preview-line preview-${line.kind}`}>
              <span className="preview-sign">{signs[line.kind]}</span>
              <InertText text={line.text} />
            </div>
          ))}
        </div>
      ))}
      {file.left > 0 && <p className="preview-note muted">… {file.left} more lines</p>}
    </div>
  )
}
