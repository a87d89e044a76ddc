import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useState } from 'react'
import { Dialog } from '../../components/dialog.tsx'
import { InertText } from '../../components/inert-text.tsx'
import { errorText, Loaded } from '../../components/states.tsx'
import { useDesk } from '../../lib/desk.tsx'
import { absoluteTime } from '../../lib/format.ts'
import './keys.css'

export function useCredentials() {
  const desk = useDesk()
  return useQuery({ queryKey: ['credentials'], queryFn: () => desk.credentials.status() })
}

type Credentials = NonNullable<ReturnType<typeof useCredentials>['data']>

export function KeysDialog({ baseUrl, onClose }: { baseUrl: string; onClose: () => void }) {
  return (
    <Dialog title="Keys for model endpoints" onClose={onClose}>
      <Keys baseUrl={baseUrl} />
    </Dialog>
  )
}

/** Keys of model endpoints: which there are, adding and removing one. A key is on its way to the kernel or nowhere on this page. */
export function Keys({ baseUrl }: { baseUrl: string }) {
  const credentials = useCredentials()
  return (
    <Loaded query={credentials} what="the keys">
      {(data) => (
        <div className="keys">
          <p className={data.state === 'unusable' ? 'tone-bad' : 'muted'}>{explain(data)}</p>
          <KeyList keys={data.keys} />
          {data.wantsPassphrase ? (
            <Unlock isNew={data.state === 'empty'} />
          ) : (
            data.state !== 'unusable' && <AddKey baseUrl={baseUrl} />
          )}
        </div>
      )}
    </Loaded>
  )
}

function explain({ state, sealer, problem }: Credentials): string {
  if (state === 'unusable') return `✗ ${problem}`
  if (state === 'locked')
    return 'The keys are locked. Their passphrase opens them; tasks that wait for a key then go on.'
  if (problem !== null) return problem
  const by = sealer === 'keychain' ? "this system's keychain" : 'your passphrase'
  return `Each key is sealed by ${by} and sent to its own host alone. It is never shown again.`
}

/** Sends what a form holds, empties it at once, and then says what came of it. */
function useSend(send: (form: FormData) => Promise<unknown>) {
  const client = useQueryClient()
  const [error, setError] = useState<string | null>(null)
  const [isSending, setSending] = useState(false)
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault()
    const form = event.currentTarget
    const data = new FormData(form)
    for (const field of form.querySelectorAll<HTMLInputElement>('input[type=password]')) field.value = ''
    setSending(true)
    setError(null)
    try {
      await send(data)
      form.reset()
    } catch (thrown) {
      setError(errorText(thrown))
    } finally {
      setSending(false)
      await client.invalidateQueries({ queryKey: ['credentials'] })
    }
  }
  return { submit, error, isSending }
}

function KeyList({ keys }: { keys: Credentials['keys'] }) {
  const desk = useDesk()
  const client = useQueryClient()
  const [asked, setAsked] = useState<string | null>(null)
  const [error, setError] = useState<string | null>(null)
  if (keys.length === 0) return <p className="keys-none">There are no keys yet.</p>
  const remove = async (name: string): Promise<void> => {
    setAsked(null)
    await desk.credentials.remove({ name }).then(
      () => setError(null),
      (thrown) => setError(errorText(thrown)),
    )
    await client.invalidateQueries({ queryKey: ['credentials'] })
  }
  return (
    <>
      <ul className="keys-list">
        {keys.map(({ name, origin, version, sealedAt }) => (
          <li key={name}>
            <strong>
              <InertText text={name} />
            </strong>
            <span>
              for <InertText text={origin} />
            </span>
            <span className="muted">
              version {version}, {absoluteTime(sealedAt)}
            </span>
            {asked === name ? (
              <button type="button" className="button" onClick={() => void remove(name)}>
                Remove it: tasks that use it wait
              </button>
            ) : (
              <button
                type="button"
                className="button quiet"
                onClick={() => setAsked(name)}
                aria-label={`Remove ${name}`}
              >
                Remove
              </button>
            )}
          </li>
        ))}
      </ul>
      <Problem text={error} />
    </>
  )
}

function AddKey({ baseUrl }: { baseUrl: string }) {
  const desk = useDesk()
  const { submit, error, isSending } = useSend((form) => {
    const text = (name: string) => String(form.get(name) ?? '').trim()
    return desk.credentials.put({ name: text('name'), key: text('key'), baseUrl: text('baseUrl') })
  })
  return (
    <form className="new-task" onSubmit={(event) => void submit(event)}>
      <Field name="Name">
        <input className="field" name="name" required pattern="[A-Za-z0-9][A-Za-z0-9._\-]{0,63}" autoComplete="off" />
      </Field>
      <Field name="Base URL">
        <input className="field" name="baseUrl" type="url" required defaultValue={baseUrl} placeholder="https://…/v1" />
      </Field>
      <Field name="Key">
        <input className="field" name="key" type="password" required autoComplete="off" spellCheck={false} />
      </Field>
      <Problem text={error} />
      <button type="submit" className="button primary" disabled={isSending}>
        {isSending ? 'Sealing…' : 'Seal this key'}
      </button>
    </form>
  )
}

function Unlock({ isNew }: { isNew: boolean }) {
  const desk = useDesk()
  const { submit, error, isSending } = useSend(async (form) => {
    const passphrase = String(form.get('passphrase') ?? '')
    if (isNew && form.get('again') !== passphrase)
      throw new Error('The two passphrases differ: nothing was changed. Type both again.')
    await desk.credentials.unlock({ passphrase })
  })
  return (
    <form className="new-task" onSubmit={(event) => void submit(event)}>
      <Field name={isNew ? 'New passphrase' : 'Passphrase'}>
        <input className="field" name="passphrase" type="password" required autoComplete="off" spellCheck={false} />
      </Field>
      {isNew && (
        <Field name="The same again">
          <input className="field" name="again" type="password" required autoComplete="off" spellCheck={false} />
        </Field>
      )}
      {isNew && <p className="muted">Nobody can recover it: without it the keys are to be added again.</p>}
      <Problem text={error} />
      <button type="submit" className="button primary" disabled={isSending}>
        {isSending ? 'Opening…' : isNew ? 'Use this passphrase' : 'Unlock'}
      </button>
    </form>
  )
}

function Problem({ text }: { text: string | null }) {
  if (text === null) return null
  return (
    <p className="tone-bad" role="alert">
      ✗ {text}
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
