import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { BudgetRow } from '../../../kernel/wire/operator-budgets.ts'
import { InertText } from '../../components/inert-text.tsx'
import { errorText, Loaded } from '../../components/states.tsx'
import { useAgents, useDesk } from '../../lib/desk.tsx'
import { money, tokens } from '../../lib/format.ts'
import { tokenLimit, usdLimit, usdText } from './amounts.ts'
import { Field, Problem } from './setting.tsx'

export function Budgets() {
  const desk = useDesk()
  const agents = useAgents().data ?? []
  const query = useQuery({ queryKey: ['status', 'budgets', 'all'], queryFn: () => desk.budgets.get() })
  const [added, setAdded] = useState<string | null>(null)
  return (
    <>
      <p className="muted">
        In force at once, for calls to come: a task that finds no room pauses at a safe point and says so. What is spent
        is never set back. A task has a budget of its own beside these; it is raised where the task is shown.
      </p>
      <Loaded query={query} what="the budgets">
        {(rows) => {
          const free = agents.map(({ agent }) => agent).filter((agent) => !rows.some((row) => row.agent === agent))
          const made = added !== null && free.includes(added) ? [unlimited(added)] : []
          return (
            <>
              {[...rows, ...made].map((row) => (
                <Budget key={row.agent ?? ''} row={row} />
              ))}
              {free.length > 0 && (
                <Field name="Another agent" hint="with all forks of its lineage, for ever">
                  <select
                    className="field"
                    value={added ?? ''}
                    onChange={(event) => setAdded(event.target.value || null)}
                  >
                    <option value="">choose one to limit it</option>
                    {free.map((agent) => (
                      <option key={agent} value={agent}>
                        {agent}
                      </option>
                    ))}
                  </select>
                </Field>
              )}
            </>
          )
        }}
      </Loaded>
    </>
  )
}

function unlimited(agent: string): BudgetRow & { isNew: true } {
  return { scope: 'agent', agent, limitNanoUsd: null, limitTokens: null, spentNanoUsd: 0, spentTokens: 0, isNew: true }
}

function Budget({ row }: { row: BudgetRow & { isNew?: true } }) {
  const desk = useDesk()
  const client = useQueryClient()
  const name = row.agent === null ? 'The day' : row.agent
  const set = useMutation({
    mutationFn: (form: FormData) =>
      desk.budgets.set({
        agent: row.agent,
        nanoUsd: usdLimit(String(form.get('usd') ?? '')),
        tokens: tokenLimit(String(form.get('tokens') ?? '')),
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['status'] }),
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    set.mutate(new FormData(event.currentTarget))
  }
  return (
    <section className="panel settings-part" aria-label={`Budget: ${name}`}>
      <header>
        <h2>
          <InertText text={name} />
        </h2>
        <span className="muted">
          {row.agent === null ? 'from local midnight to midnight' : 'and its forks, for ever'}
        </span>
      </header>
      <form className="settings-form" onSubmit={submit} key={`${row.limitNanoUsd} ${row.limitTokens}`}>
        {!row.isNew && (
          <p>
            {money(row.spentNanoUsd)} and {tokens(row.spentTokens)} tokens spent{' '}
            <span className="muted">(simulated calls as if they were paid; calls without a price in tokens alone)</span>
          </p>
        )}
        <Field name="Limit, USD">
          <input
            className="field"
            name="usd"
            inputMode="decimal"
            placeholder="no limit"
            defaultValue={usdText(row.limitNanoUsd)}
          />
        </Field>
        <Field name="Limit, tokens">
          <input
            className="field"
            name="tokens"
            inputMode="numeric"
            placeholder="no limit"
            defaultValue={row.limitTokens ?? ''}
          />
        </Field>
        <Problem text={set.error && errorText(set.error)} />
        <div className="settings-bar">
          <button type="submit" className="button" disabled={set.isPending}>
            {set.isPending ? 'Setting…' : 'Set these limits'}
          </button>
          <span role="status">{set.isSuccess && 'In force.'}</span>
        </div>
      </form>
    </section>
  )
}
