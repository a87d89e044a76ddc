import { useMutation } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useState } from 'react'
import type { HostStatus, PackRow, RunRequest } from '../../../kernel/wire/operator.ts'
import { Dialog } from '../../components/dialog.tsx'
import { InertText } from '../../components/inert-text.tsx'
import { errorText } from '../../components/states.tsx'
import { Simulated } from '../../components/status.tsx'
import { useAgents, useDesk, usePacks, useTasks } from '../../lib/desk.tsx'
import { estimateOf } from '../../lib/estimate.ts'
import { duration, money, whole } from '../../lib/format.ts'
import { KeysDialog, useCredentials } from '../keys/keys-dialog.tsx'

interface Props {
  status: HostStatus | undefined
  onClose: () => void
  onStarted: (task: string) => void
}

/** Every choice that `exodesk run` offers and that a first run needs; what is left empty takes the kernel's default. */
export function NewTask({ status, onClose, onStarted }: Props) {
  const desk = useDesk()
  const packs = usePacks().data ?? []
  const agents = useAgents().data ?? []
  const [model, setModel] = useState('')
  const [pack, setPack] = useState('')
  const [baseUrl, setBaseUrl] = useState('')
  const [isKeysOpen, setKeysOpen] = useState(false)
  const keys = useCredentials().data?.keys ?? []
  const fitting = keys.filter((key) => URL.canParse(baseUrl) && key.origin === new URL(baseUrl).origin)
  const start = useMutation({
    mutationFn: (request: RunRequest) => desk.tasks.run(request),
    onSuccess: ({ task }) => onStarted(task),
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    start.mutate(requestOf(new FormData(event.currentTarget), endpoints))
  }
  const isOther = model === 'other'
  const chosen = packs.find((each) => each.pack === pack) ?? packs.find((each) => each.blocked === null)
  const endpoints = chosen?.endpoints ?? []
  // Nothing chosen yet: the list shows its first.
  const shown = status?.models.find((each) => each.name === model) ?? (isOther ? undefined : status?.models[0])
  return (
    <Dialog title="New task" onClose={onClose}>
      <form className="new-task" onSubmit={submit}>
        <Field name="Task">
          <select
            className="field"
            name="pack"
            required
            value={chosen?.pack ?? ''}
            onChange={(event) => setPack(event.target.value)}
          >
            {packs.map((pack) => (
              <option key={pack.pack} value={pack.pack} disabled={pack.blocked !== null}>
                {pack.name}
                {pack.blocked && ` (${pack.blocked})`}
              </option>
            ))}
          </select>
        </Field>
        {endpoints.map(({ name, address }) => (
          <label key={`${chosen?.pack} ${name} ${address}`} className="new-task-check">
            <input type="checkbox" name="endpoint" value={name} required /> It may reach <InertText text={name} />, a
            service of this machine at <InertText text={address} />
          </label>
        ))}
        <Field name="Agent">
          <input
            className="field"
            name="agent"
            pattern="[A-Za-z0-9][A-Za-z0-9._\-]{0,63}"
            placeholder="default: chosen by the kernel"
            list="new-task-agents"
            autoComplete="off"
            aria-describedby="new-task-agent-hint"
          />
        </Field>
        <datalist id="new-task-agents">
          {agents.map((each) => (
            <option key={each.agent} value={each.agent}>
              r{each.activation}
            </option>
          ))}
        </datalist>
        <p id="new-task-agent-hint" className="muted new-task-hint">
          A new agent starts from the seed; name an existing one to go on with what it has learned
          {agents.length > 0 && ` (${agents.map((each) => `${each.agent} r${each.activation}`).join(', ')})`}.
        </p>
        <Field name="Model">
          <select className="field" name="listed" value={model} onChange={(event) => setModel(event.target.value)}>
            {status?.models.map((each) => (
              <option key={each.name} value={each.name}>
                {each.name}
                {each.simulated && ' (simulated, $0)'}
              </option>
            ))}
            <option value="other">another, by its endpoint…</option>
          </select>
        </Field>
        {shown && (
          <p className="muted new-task-hint" aria-live="polite">
            <InertText text={shown.description} />
          </p>
        )}
        {shown && chosen && <EstimateLine pack={chosen} model={shown} />}
        {isOther && (
          <>
            <Field name="Model name">
              <input className="field" name="model" required />
            </Field>
            <Field name="Base URL">
              <input
                className="field"
                name="baseUrl"
                type="url"
                placeholder="https://…/v1"
                required
                value={baseUrl}
                onChange={(event) => setBaseUrl(event.target.value)}
              />
            </Field>
            <Field name="API">
              <select className="field" name="api" aria-describedby="new-task-api-hint">
                <option value="responses">Responses</option>
                <option value="chat">Chat Completions</option>
              </select>
            </Field>
            <p id="new-task-api-hint" className="muted new-task-hint">
              Chat Completions is for servers that speak it alone: OpenRouter, Ollama, vLLM, llama.cpp, LM Studio.
            </p>
            <Field name="Key">
              <span className="new-task-key">
                <select className="field" name="credential" key={fitting.map((key) => key.name).join()}>
                  {fitting.map((key) => (
                    <option key={key.name} value={key.name}>
                      {key.name}
                    </option>
                  ))}
                  <option value="">
                    {fitting.length === 0 ? 'no sealed key is for this endpoint' : 'no sealed key'}
                  </option>
                </select>
                <button type="button" className="button" onClick={() => setKeysOpen(true)}>
                  Keys…
                </button>
              </span>
            </Field>
            <Field name="or from variable">
              <input
                className="field"
                name="keyEnv"
                placeholder="name of an environment variable, never the key itself"
              />
            </Field>
          </>
        )}
        <Field name="Budget, USD">
          <input
            className="field"
            name="budget"
            type="number"
            min="0.01"
            step="0.01"
            placeholder="default: the task's own"
          />
        </Field>
        <Field name="Budget, tokens">
          <input
            className="field"
            name="budgetTokens"
            type="number"
            min="1"
            step="1"
            placeholder="default: the task's own"
          />
        </Field>
        <Field name="Most steps">
          <input
            className="field"
            name="maxSteps"
            type="number"
            min="1"
            step="1"
            placeholder="default: the task's own"
          />
        </Field>
        <Field name="Seed">
          <input className="field" name="seed" type="number" min="0" step="1" placeholder="default: the task's own" />
        </Field>
        <label className="new-task-check">
          <input type="checkbox" name="propose" defaultChecked /> The agent may propose changes of its own policy
        </label>
        <p className="muted">Only you approve a proposal. Tool calls stay inside the sandbox and never ask.</p>
        {start.error && (
          <p className="tone-bad" role="alert">
            ✗ {errorText(start.error)}
          </p>
        )}
        <button type="submit" className="button primary" disabled={start.isPending || packs.length === 0}>
          {start.isPending ? 'Starting…' : 'Start the task'}
        </button>
      </form>
      {isKeysOpen && <KeysDialog baseUrl={baseUrl} onClose={() => setKeysOpen(false)} />}
    </Dialog>
  )
}

/** Before money is spent: what the same has taken so far. */
function EstimateLine({ pack, model }: { pack: PackRow; model: { name: string; simulated: boolean } }) {
  const tasks = useTasks().data
  if (!tasks) return null
  const found = estimateOf(tasks, pack, model)
  return (
    <p className="muted new-task-hint" data-testid="estimate">
      {found === null ? (
        'No estimate yet: this task has not come to its end with this model.'
      ) : (
        <>
          Estimate: {whole(Math.round(found.steps))} steps, {money(found.costNanoUsd)}, {duration(found.durationMs)}{' '}
          (median, n = {found.runs}, pauses too) <Simulated isSimulated={model.simulated} />
        </>
      )}
    </p>
  )
}

function Field({ name, children }: { name: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is the child.
    <label className="new-task-field">
      <span>{name}</span>
      {children}
    </label>
  )
}

/** What is left empty is left out. */
export function requestOf(form: FormData, endpoints: PackRow['endpoints']): RunRequest {
  const text = (name: string) => String(form.get(name) ?? '').trim()
  const listed = text('listed')
  const request: RunRequest = { pack: text('pack'), propose: form.get('propose') !== null }
  const allowed = endpoints.filter(({ name }) => form.getAll('endpoint').includes(name))
  // With the address that was shown: the pack may have been changed since.
  if (allowed.length > 0) request.endpoints = allowed
  if (text('agent')) request.agent = text('agent')
  if (listed !== 'other' && listed) request.model = listed
  if (listed === 'other') {
    request.model = text('model')
    request.baseUrl = text('baseUrl')
    request.api = text('api') === 'chat' ? 'chat' : 'responses'
    if (text('keyEnv')) request.keyEnv = text('keyEnv')
    else if (text('credential')) request.credential = text('credential')
  }
  if (text('budget')) request.budgetNanoUsd = Math.round(Number(text('budget')) * 1e9)
  if (text('budgetTokens')) request.budgetTokens = Number(text('budgetTokens'))
  if (text('maxSteps')) request.maxSteps = Number(text('maxSteps'))
  if (text('seed')) request.seed = Number(text('seed'))
  return request
}
