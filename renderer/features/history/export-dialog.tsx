import { useMutation, useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import type { ExportFormat, RedactionFinding, RedactionRule } from '../../../kernel/wire/operator-exports.ts'
import { Dialog } from '../../components/dialog.tsx'
import { InertText } from '../../components/inert-text.tsx'
import { errorText, Loaded } from '../../components/states.tsx'
import { useAgents, useDesk, useTasks } from '../../lib/desk.tsx'
import { bytes, shortHash, whole } from '../../lib/format.ts'

const formats: [format: ExportFormat, name: string, about: string][] = [
  ['markdown', 'Markdown', 'to be read'],
  ['html', 'HTML', 'to be read, one file that loads nothing'],
  ['bundle', 'Bundle', 'the whole history, lossless; exodesk import verifies it'],
  ['atif', 'ATIF', 'one task as an agent trajectory'],
  ['otel', 'OpenTelemetry', 'GenAI spans, as OTLP JSON'],
  ['fine-tuning', 'Fine-tuning', 'JSON lines to train a model on'],
]
const ruleNames: Record<RedactionRule, string> = {
  keys: 'Keys that Exodesk knows',
  lookalikes: 'What looks like a provider’s key',
  home: 'Home folders, shown as ~',
  email: 'E-mail addresses',
}
type OptionalRule = Exclude<RedactionRule, 'keys'>

/** Writes a file on the host's machine. What is taken out of it is shown first, and ticked by the person. */
export function ExportDialog({ task, onClose }: { task: string | null; onClose: () => void }) {
  const desk = useDesk()
  const id = useId()
  const tasks = useTasks().data ?? []
  const agents = useAgents().data ?? []
  const [format, setFormat] = useState<ExportFormat>('markdown')
  const [of, setOf] = useState(task === null ? 'all' : `task ${task}`)
  const [keep, setKeep] = useState<readonly OptionalRule[]>([])
  const [file, setFile] = useState<string | null>(null)
  const [consent, setConsent] = useState(false)
  const [kind, name] = format === 'bundle' ? ['all', undefined] : of.split(' ', 2)
  const scope = { format, ...(kind === 'task' ? { task: name } : kind === 'agent' ? { agent: name } : {}) }
  const needsTask = format === 'atif' && kind !== 'task'
  const preview = useQuery({
    queryKey: ['export-preview', scope],
    queryFn: () => desk.exports.preview(scope),
    enabled: !needsTask,
    gcTime: 0,
  })
  const write = useMutation({
    mutationFn: () =>
      desk.exports.write({
        ...scope,
        keep: [...keep],
        file: file ?? preview.data?.file,
        ...(consent ? { consent } : {}),
      }),
  })
  const blocked = preview.data?.blocked ?? null
  const canWrite = !needsTask && preview.data !== undefined && blocked === null && (format !== 'fine-tuning' || consent)
  const done = write.data
  return (
    <Dialog
      title="Export"
      onClose={onClose}
      footer={
        <>
          <button type="button" className="button" onClick={onClose}>
            {done ? 'Close' : 'Cancel'}
          </button>
          {!done && (
            <button
              type="button"
              className="button primary"
              disabled={!canWrite || write.isPending}
              onClick={() => write.mutate()}
              data-testid="write"
            >
              {write.isPending ? 'Writing…' : 'Write the file'}
            </button>
          )}
        </>
      }
    >
      {done ? (
        <div className="history-export" role="status" data-testid="exported">
          <p>
            ✓ {whole(done.events)} events written, {bytes(done.sizeBytes)}:
          </p>
          <p className="mono history-proof">{done.file}</p>
          <p className="muted">
            SHA-256 {shortHash(done.hash)}…{' '}
            {done.redacted.length === 0
              ? 'Nothing was found to take out.'
              : `Taken out: ${done.redacted.map(({ rule, count }) => `${ruleNames[rule]} (${whole(count)})`).join('; ')}.`}
            {done.seq === null ? ' This history takes no events, so the export is not recorded in it.' : ''}
          </p>
        </div>
      ) : (
        <div className="history-export">
          <fieldset>
            <legend>Format</legend>
            {formats.map(([value, label, about]) => (
              <label key={value}>
                <input
                  type="radio"
                  name={`${id}-format`}
                  checked={format === value}
                  onChange={() => setFormat(value)}
                />{' '}
                <span>{label}</span> <span className="muted">{about}</span>
              </label>
            ))}
          </fieldset>
          {format !== 'bundle' && (
            <p className="history-export-of">
              <label htmlFor={`${id}-of`}>Of</label>
              <select id={`${id}-of`} className="field" value={of} onChange={(event) => setOf(event.target.value)}>
                <option value="all" disabled={format === 'atif'}>
                  everything
                </option>
                {agents.map(({ agent }) => (
                  <option key={agent} value={`agent ${agent}`} disabled={format === 'atif'}>
                    agent {agent}
                  </option>
                ))}
                {tasks.map((each) => (
                  <option key={each.task} value={`task ${each.task}`}>
                    {each.task} {each.title.slice(0, 60)}
                  </option>
                ))}
              </select>
            </p>
          )}
          {needsTask ? (
            <p className="muted">A trajectory is of one task: choose it.</p>
          ) : (
            <Loaded query={preview} what="the preview" rows={5}>
              {({ events, findings, file: usual }) => (
                <>
                  <p className="muted">{whole(events)} events.</p>
                  {blocked && (
                    <p className="tone-bad" role="alert">
                      ✗ {blocked}
                    </p>
                  )}
                  {format === 'bundle' ? (
                    <p>
                      A bundle leaves nothing out: home folders, e-mail addresses and everything that agents read or
                      wrote are in it. It was searched for every key that Exodesk knows.
                    </p>
                  ) : (
                    <Redaction findings={findings} keep={keep} onKeep={setKeep} />
                  )}
                  <p className="history-export-of">
                    <label htmlFor={`${id}-file`}>File on the host</label>
                    <input
                      id={`${id}-file`}
                      className="field mono"
                      value={file ?? usual}
                      maxLength={4096}
                      onChange={(event) => setFile(event.target.value)}
                    />
                  </p>
                </>
              )}
            </Loaded>
          )}
          {format === 'fine-tuning' && (
            <label>
              <input type="checkbox" checked={consent} onChange={(event) => setConsent(event.target.checked)} /> Whoever
              worked on this agrees that a model is trained on it
            </label>
          )}
        </div>
      )}
      {write.error && (
        <p className="tone-bad" role="alert">
          ✗ {errorText(write.error)} Nothing was written.
        </p>
      )}
    </Dialog>
  )
}

function Redaction(props: {
  findings: readonly RedactionFinding[]
  keep: readonly OptionalRule[]
  onKeep: (keep: readonly OptionalRule[]) => void
}) {
  const { findings, keep, onKeep } = props
  return (
    <fieldset data-testid="redaction">
      <legend>Taken out</legend>
      {findings.map(({ rule, count, examples }) => (
        <div key={rule} className="history-finding">
          <label>
            <input
              type="checkbox"
              checked={rule === 'keys' || !keep.includes(rule)}
              disabled={rule === 'keys'}
              onChange={(event) => {
                if (rule !== 'keys')
                  onKeep(event.target.checked ? keep.filter((each) => each !== rule) : [...keep, rule])
              }}
            />{' '}
            {ruleNames[rule]} <span className="muted">{count === 0 ? 'none found' : `${whole(count)} times`}</span>
          </label>
          {count > 0 && (
            <p className="muted">
              {examples.slice(0, 6).map(({ text, count: times, seq }, index) => (
                <span key={text ?? seq}>
                  {index > 0 && ', '}
                  {text === null ? `in event ${seq}` : <InertText text={text} />}
                  {times > 1 && ` ×${times}`}
                </span>
              ))}
            </p>
          )}
        </div>
      ))}
    </fieldset>
  )
}
