import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import type { Sizes } from '../../../kernel/wire/operator-settings.ts'
import { errorText, Loaded } from '../../components/states.tsx'
import { Verified } from '../../components/verified.tsx'
import { useDesk, useStatus } from '../../lib/desk.tsx'
import { whole } from '../../lib/format.ts'
import { hrefOf } from '../../lib/route.ts'
import { bytes } from './amounts.ts'
import { Field, Problem } from './setting.tsx'

const names: Readonly<Record<Sizes['rows'][number]['what'], [name: string, words: string]>> = {
  log: ['History', 'every event and its contents; never pruned'],
  search: ['Search index', 'derived from history: made anew when it is missing'],
  archive: ['Archive', 'large contents that were moved out of history'],
  revisions: ['Revisions', 'sources of every policy that was run'],
  tasks: ['Tasks', 'folders that tasks work in'],
  snapshots: ['Snapshots', 'kept states of sandboxes'],
  other: ['Other', 'the window, locks, keys, preferences'],
}

export function Data() {
  const desk = useDesk()
  const query = useQuery({ queryKey: ['sizes'], queryFn: () => desk.settings.sizes(), staleTime: 0 })
  return (
    <>
      <section className="panel settings-part" aria-label="What is kept">
        <header>
          <h2>What is kept</h2>
          <button
            type="button"
            className="button quiet"
            onClick={() => void query.refetch()}
            disabled={query.isFetching}
          >
            {query.isFetching ? 'Counting…' : 'Count again'}
          </button>
        </header>
        <Loaded query={query} what="the sizes">
          {(sizes) => <SizeTable sizes={sizes} />}
        </Loaded>
      </section>
      <Verify />
      <Backup />
      <section className="panel settings-part" aria-label="Export">
        <header>
          <h2>Export</h2>
        </header>
        <p className="settings-line">
          What an agent did leaves the desk from <a href={hrefOf({ screen: 'history' })}>History</a>, where a redaction
          is previewed first.
        </p>
      </section>
    </>
  )
}

function SizeTable({ sizes }: { sizes: Sizes }) {
  return (
    <>
      <p className="settings-line">
        <code>{sizes.dataDir}</code>
      </p>
      <table className="table">
        <thead>
          <tr>
            <th>Kind</th>
            <th className="figure">Size</th>
            <th className="figure">Files</th>
            <th>What it is</th>
          </tr>
        </thead>
        <tbody>
          {sizes.rows.map(({ what, sizeBytes, files }) => (
            <tr key={what}>
              <td>{names[what][0]}</td>
              <td className="figure">{bytes(sizeBytes)}</td>
              <td className="figure">{whole(files)}</td>
              <td className="muted">{names[what][1]}</td>
            </tr>
          ))}
          <tr>
            <td>
              <strong>Together</strong>
            </td>
            <td className="figure">
              <strong>{bytes(sizes.totalBytes)}</strong>
            </td>
            <td />
            <td className="muted">
              {sizes.freeBytes === null ? 'free space not known' : `${bytes(sizes.freeBytes)} free`}
            </td>
          </tr>
        </tbody>
      </table>
      {sizes.unread.length > 0 && (
        <p className="settings-line tone-wait">▲ Could not be read, and is not counted: {sizes.unread.join(', ')}</p>
      )}
    </>
  )
}

function Verify() {
  const desk = useDesk()
  const client = useQueryClient()
  const status = useStatus().data
  const verify = useMutation({
    mutationFn: () => desk.history.verify(),
    onSuccess: () => client.invalidateQueries({ queryKey: ['status'] }),
  })
  const report = verify.data
  return (
    <section className="panel settings-part" aria-label="Verify">
      <header>
        <h2>Verify</h2>
        <button type="button" className="button" onClick={() => verify.mutate()} disabled={verify.isPending}>
          {verify.isPending ? 'Verifying every event…' : 'Verify all of history'}
        </button>
      </header>
      <p className="settings-line">
        {status && <Verified subject="log" verified={status.verified} lastSeq={status.lastSeq} />}
      </p>
      <div role="status" className="settings-line" data-testid="verify-report">
        {report && (
          <p className={report.ok ? 'tone-ok' : 'tone-bad'}>
            {report.ok
              ? `✓ All ${whole(report.events)} events, their contents and what is derived from them verify.`
              : `✗ ${report.problem ?? 'It does not verify.'} History is open for reading only.`}
          </p>
        )}
        {report?.notes.map((note) => (
          <p key={note} className="muted">
            {note}
          </p>
        ))}
      </div>
      <Problem text={verify.error && errorText(verify.error)} />
    </section>
  )
}

function Backup() {
  const desk = useDesk()
  const backup = useMutation({ mutationFn: (folder: string) => desk.history.backup({ folder }) })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    backup.mutate(String(new FormData(event.currentTarget).get('folder') ?? '').trim())
  }
  return (
    <section className="panel settings-part" aria-label="Back up">
      <header>
        <h2>Back up</h2>
      </header>
      <form className="settings-form" onSubmit={submit}>
        <p className="muted">
          Copies history into a new folder of the machine that Exodesk runs on, and verifies the copy. Tasks may go on
          meanwhile. It is a data directory of its own; sealed keys and sandboxes are not in it.
        </p>
        <Field name="New folder" hint="absolute; it must not exist yet">
          <input className="field" name="folder" required placeholder="/…/exodesk-backup" spellCheck={false} />
        </Field>
        <Problem text={backup.error && errorText(backup.error)} />
        <div className="settings-bar">
          <button type="submit" className="button" disabled={backup.isPending}>
            {backup.isPending ? 'Copying and verifying…' : 'Back up into it'}
          </button>
          <span role="status">
            {backup.data && (
              <span className="tone-ok">
                ✓ {bytes(backup.data.sizeBytes)} up to event {whole(backup.data.seq)} in {backup.data.folder}
              </span>
            )}
          </span>
        </div>
      </form>
    </section>
  )
}
