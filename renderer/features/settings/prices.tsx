import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import type { PriceRow } from '../../../kernel/wire/operator-prices.ts'
import { InertText } from '../../components/inert-text.tsx'
import { Empty, errorText, Loaded } from '../../components/states.tsx'
import { useDesk } from '../../lib/desk.tsx'
import { priceOf, priceProblem } from './amounts.ts'
import { Field, Problem } from './setting.tsx'

/** Prices of the operator's own: they come before every list. */
export function Prices() {
  const desk = useDesk()
  const query = useQuery({ queryKey: ['status', 'prices'], queryFn: () => desk.prices.list() })
  return (
    <>
      <p className="muted">
        USD per million tokens. A price that you set holds for one model at one endpoint, for calls to come, in place of
        the public list. Offline models have prices of their own. A bucket without a price makes the cost of a call that
        uses it unknown, never zero.
      </p>
      <section className="panel settings-part" aria-label="Prices that you have set">
        <header>
          <h2>Prices that you have set</h2>
        </header>
        <Loaded query={query} what="the prices">
          {(rows) => (rows.length === 0 ? <None /> : <PriceTable rows={rows} />)}
        </Loaded>
      </section>
      <section className="panel settings-part" aria-label="Set a price">
        <header>
          <h2>Set a price</h2>
        </header>
        <SetPrice />
      </section>
    </>
  )
}

function None() {
  return (
    <Empty title="You have set no price">
      <p className="muted">The public list that ships with this version holds.</p>
    </Empty>
  )
}

function PriceTable({ rows }: { rows: readonly PriceRow[] }) {
  const amount = (value: number | undefined) => (value === undefined ? <span className="muted">not known</span> : value)
  return (
    <div className="settings-scroll">
      <table className="table">
        <thead>
          <tr>
            <th>Model</th>
            <th>Endpoint</th>
            <th className="figure">Input</th>
            <th className="figure">Cache read</th>
            <th className="figure">Cache write</th>
            <th className="figure">Output</th>
            <th>Since</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.name} ${row.baseUrl}`}>
              <td>
                <InertText text={row.name} />
              </td>
              <td>
                <InertText text={row.baseUrl} />
              </td>
              {[row.input, row.cachedInput, row.cacheWrite, row.output].map((value, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the four buckets, in order.
                <td key={index} className="figure">
                  {amount(value)}
                </td>
              ))}
              <td>{row.since}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function SetPrice() {
  const desk = useDesk()
  const client = useQueryClient()
  const set = useMutation({
    mutationFn: async (form: FormData) => {
      const problem = priceProblem(form)
      if (problem !== null) throw new Error(problem)
      await desk.prices.set(priceOf(form))
      return String(form.get('name'))
    },
    onSuccess: () => client.invalidateQueries({ queryKey: ['status'] }),
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    set.mutate(new FormData(event.currentTarget))
  }
  return (
    <form className="settings-form" onSubmit={submit}>
      <Field name="Model">
        <input className="field" name="name" required autoComplete="off" spellCheck={false} />
      </Field>
      <Field name="Base URL">
        <input className="field" name="baseUrl" type="url" required placeholder="https://…/v1" />
      </Field>
      <Field name="Input">
        <input className="field" name="input" required inputMode="decimal" placeholder="such as 3 or 0.25" />
      </Field>
      <Field name="Cache read" hint="left empty: not known">
        <input className="field" name="cachedInput" inputMode="decimal" />
      </Field>
      <Field name="Cache write" hint="left empty: not known">
        <input className="field" name="cacheWrite" inputMode="decimal" />
      </Field>
      <Field name="Output">
        <input className="field" name="output" required inputMode="decimal" />
      </Field>
      <Problem text={set.error && errorText(set.error)} />
      <div className="settings-bar">
        <button type="submit" className="button primary" disabled={set.isPending}>
          {set.isPending ? 'Setting…' : 'Set it for calls to come'}
        </button>
        <span role="status">{set.data && <>The price of {set.data} is set.</>}</span>
      </div>
    </form>
  )
}
