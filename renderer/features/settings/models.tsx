import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { ModelTest } from '../../../kernel/wire/operator-settings.ts'
import { InertText } from '../../components/inert-text.tsx'
import { errorText } from '../../components/states.tsx'
import { Simulated } from '../../components/status.tsx'
import { useDesk, useStatus } from '../../lib/desk.tsx'
import { duration, money, tokens } from '../../lib/format.ts'
import { Keys, useCredentials } from '../keys/keys-dialog.tsx'
import { Field, Problem } from './setting.tsx'

export function Models() {
  return (
    <>
      <section className="panel settings-part" aria-label="Sealed keys">
        <header>
          <h2>Sealed keys</h2>
        </header>
        <Keys baseUrl="" />
      </section>
      <section className="panel settings-part" aria-label="Test a model">
        <header>
          <h2>Test a model</h2>
        </header>
        <TestModel />
      </section>
      <section className="panel settings-part" aria-label="Offline models">
        <header>
          <h2>Offline models</h2>
        </header>
        <Offline />
      </section>
    </>
  )
}

type Request = Parameters<ReturnType<typeof useDesk>['settings']['testModel']>[0]

/** One call of a few tokens through the gateway, as a task would make it. */
function TestModel() {
  const desk = useDesk()
  const client = useQueryClient()
  const keys = useCredentials().data?.keys ?? []
  const offline = useStatus().data?.models ?? []
  const [name, setName] = useState('')
  const test = useMutation({
    mutationFn: (request: Request) => desk.settings.testModel(request),
    onSettled: () => client.invalidateQueries({ queryKey: ['status'] }),
  })
  const isOffline = offline.some((model) => model.name === name)
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    test.mutate(requestOf(new FormData(event.currentTarget)))
  }
  return (
    <form className="settings-form" onSubmit={submit}>
      <p className="muted">
        Sends one question with at most 16 tokens of answer to the endpoint. It costs what it costs, and counts in the
        budget of the day.
      </p>
      <Field name="Model">
        <input
          className="field"
          name="model"
          required
          list="settings-offline"
          autoComplete="off"
          spellCheck={false}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </Field>
      <datalist id="settings-offline">
        {offline.map((model) => (
          <option key={model.name} value={model.name} />
        ))}
      </datalist>
      {!isOffline && (
        <>
          <Field name="Key">
            <select className="field" name="credential">
              {keys.map((key) => (
                <option key={key.name} value={key.name}>
                  {key.name}, for {key.origin}
                </option>
              ))}
              <option value="">no sealed key</option>
            </select>
          </Field>
          <Field name="Base URL" hint="of the endpoint that the key is for, such as https://api.openai.com/v1">
            <input className="field" name="baseUrl" type="url" required placeholder="https://…/v1" />
          </Field>
          <Field name="API">
            <select className="field" name="api">
              <option value="responses">Responses</option>
              <option value="chat">Chat Completions</option>
            </select>
          </Field>
        </>
      )}
      <div className="settings-bar">
        <button type="submit" className="button primary" disabled={test.isPending}>
          {test.isPending ? 'Asking…' : 'Send the test call'}
        </button>
      </div>
      <div role="status" data-testid="model-test">
        {test.data && <Outcome name={test.variables.model} test={test.data} />}
      </div>
      <Problem text={test.error && `Nothing was sent. ${errorText(test.error)}`} />
    </form>
  )
}

/** What is left empty is left out. */
function requestOf(form: FormData): Request {
  const text = (name: string) => String(form.get(name) ?? '').trim()
  const request: Request = { model: text('model') }
  if (text('baseUrl') === '') return request
  return {
    ...request,
    baseUrl: text('baseUrl'),
    api: text('api') === 'chat' ? 'chat' : 'responses',
    ...(text('credential') === '' ? {} : { credential: text('credential') }),
  }
}

function Outcome({ name, test }: { name: string; test: ModelTest }) {
  const { usage } = test
  const used = usage === null ? 'tokens not reported' : `${tokens(sum(usage))} in, ${tokens(usage.output)} out`
  const cost =
    test.costNanoUsd === null ? `cost not known: ${test.costReason ?? 'no reason given'}` : money(test.costNanoUsd)
  return (
    <div className="settings-outcome">
      <p>
        <strong className={test.ok ? 'tone-ok' : 'tone-bad'}>
          {test.ok ? '✓ It answers' : '✗ It does not answer'}
        </strong>{' '}
        <InertText text={name} /> <Simulated isSimulated={test.simulated} />
      </p>
      {test.error !== null && (
        <p>
          <InertText text={test.error} />
        </p>
      )}
      {test.text !== null && (
        <p>
          It said: “<InertText text={test.text} />”
        </p>
      )}
      <p className="muted">
        {cost} · {used} · {duration(test.durationMs)}
        {test.attempts > 1 && ` · ${test.attempts} attempts`}
      </p>
    </div>
  )
}

function sum({ uncached, cacheRead, cacheWrite }: NonNullable<ModelTest['usage']>): number {
  return uncached + cacheRead + cacheWrite
}

function Offline() {
  const models = useStatus().data?.models ?? []
  return (
    <ul className="settings-rows">
      {models.map(({ name, description, simulated }) => (
        <li key={name}>
          <strong>{name}</strong> <Simulated isSimulated={simulated} />
          <span className="muted">{description}</span>
        </li>
      ))}
    </ul>
  )
}
