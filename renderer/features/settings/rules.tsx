import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { Rule, RuleDraft, RulePreview } from '../../../kernel/wire/operator-review.ts'
import { InertText } from '../../components/inert-text.tsx'
import { Empty, errorText, Loaded } from '../../components/states.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { useAgents, useDesk } from '../../lib/desk.tsx'
import { absoluteTime } from '../../lib/format.ts'
import { hrefOf } from '../../lib/route.ts'
import { Field, Problem } from './setting.tsx'

const stateWords: Readonly<Record<Rule['state'], [icon: string, word: string, tone: string]>> = {
  active: ['●', 'active', 'tone-run'],
  expired: ['■', 'expired', 'muted'],
  revoked: ['■', 'revoked', 'muted'],
  stopped: ['▲', 'stopped: two that it let through regressed', 'tone-wait'],
}

/** What takes effect without a person: low risk alone, for a while, in runs that ask for it. */
export function Rules() {
  const desk = useDesk()
  const query = useQuery({ queryKey: ['status', 'rules'], queryFn: () => desk.rules.list() })
  return (
    <>
      <p className="muted">
        A rule approves proposals of LOW risk in runs that were started with approval by rules. It never covers what a
        check could not decide or what was turned down before, ends by itself, and stops after two that it let through
        regress.
      </p>
      <section className="panel settings-part" aria-label="Rules that there are">
        <header>
          <h2>Rules that there are</h2>
        </header>
        <Loaded query={query} what="the rules">
          {(rules) =>
            rules.length === 0 ? (
              <Empty title="There is no rule">
                <p className="muted">Every proposal waits for your verdict.</p>
              </Empty>
            ) : (
              <ul className="settings-rules">
                {rules.toReversed().map((rule) => (
                  <RuleRow key={rule.rule} rule={rule} />
                ))}
              </ul>
            )
          }
        </Loaded>
      </section>
      <section className="panel settings-part" aria-label="Add a rule">
        <header>
          <h2>Add a rule</h2>
        </header>
        <AddRule />
      </section>
    </>
  )
}

function RuleRow({ rule }: { rule: Rule }) {
  const desk = useDesk()
  const client = useQueryClient()
  const [isAsked, setAsked] = useState(false)
  const revoke = useMutation({
    mutationFn: (reason: string) => desk.rules.revoke({ rule: rule.rule, reason }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['status'] }),
  })
  const [icon, word, tone] = stateWords[rule.state]
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    revoke.mutate(String(new FormData(event.currentTarget).get('reason') ?? ''))
  }
  return (
    <li>
      <p>
        <strong>{rule.rule}</strong>{' '}
        <span className={tone}>
          <span aria-hidden="true">{icon}</span> {word}
        </span>{' '}
        {rule.agent === null ? 'every agent' : <InertText text={rule.agent} />}, at most {rule.maxChangedLines} lines
        {rule.tags.length > 0 && `, of ${rule.tags.join(', ')}`}
        {rule.except.length > 0 && (
          <>
            , except <InertText text={rule.except.join(', ')} />
          </>
        )}
      </p>
      <p className="muted">
        {rule.hits} {rule.hits === 1 ? 'hit' : 'hits'}
        {rule.lastHitAt !== null && (
          <>
            , the last <TimeAgo at={rule.lastHitAt} />
          </>
        )}
        {rule.regressions > 0 && `, ${rule.regressions} regressed`} · {rule.state === 'active' ? 'until' : 'was until'}{' '}
        {absoluteTime(rule.expiresAt)}
        {rule.createdFrom !== null && ` · from ${rule.createdFrom}`}
      </p>
      {rule.state === 'active' &&
        (isAsked ? (
          <form className="settings-inline" onSubmit={submit}>
            <input className="field" name="reason" required maxLength={4000} placeholder="Why" aria-label="Why" />
            <button type="submit" className="button danger" disabled={revoke.isPending}>
              Revoke {rule.rule}
            </button>
          </form>
        ) : (
          <button
            type="button"
            className="button settings-revoke"
            onClick={() => setAsked(true)}
            aria-label={`Revoke ${rule.rule}`}
          >
            Revoke…
          </button>
        ))}
      <Problem text={revoke.error && errorText(revoke.error)} />
    </li>
  )
}

/** Nothing is preselected; what it would have let through is shown before it can be added. */
function AddRule() {
  const desk = useDesk()
  const client = useQueryClient()
  const agents = useAgents().data ?? []
  const [seen, setSeen] = useState<{ draft: RuleDraft; preview: RulePreview } | null>(null)
  const preview = useMutation({
    mutationFn: async (draft: RuleDraft) => ({ draft, preview: await desk.rules.preview(draft) }),
    onSuccess: setSeen,
  })
  const add = useMutation({
    mutationFn: (draft: RuleDraft) => desk.rules.add(draft),
    onSuccess: () => {
      setSeen(null)
      return client.invalidateQueries({ queryKey: ['status'] })
    },
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    preview.mutate(draftOf(new FormData(event.currentTarget)))
  }
  return (
    <form className="settings-form" onSubmit={submit} onChange={() => setSeen(null)}>
      <Field name="Agent">
        <select className="field" name="agent">
          {agents.map(({ agent }) => (
            <option key={agent}>{agent}</option>
          ))}
          <option value="">every agent</option>
        </select>
      </Field>
      <Field name="Most lines" hint="changed in all">
        <input className="field" name="lines" type="number" min="1" max="400" required defaultValue="40" />
      </Field>
      <Field name="Parts" hint="tags that the kernel gives, separated by commas; empty: any">
        <input className="field" name="tags" spellCheck={false} />
      </Field>
      <Field name="Except" hint="files, or folders that end in /, separated by commas">
        <input className="field" name="except" spellCheck={false} />
      </Field>
      <Field name="Days">
        <input className="field" name="days" type="number" min="1" max="90" required defaultValue="14" />
      </Field>
      <Problem text={(preview.error && errorText(preview.error)) || (add.error && errorText(add.error)) || null} />
      <div className="settings-bar">
        <button type="submit" className="button" disabled={preview.isPending}>
          See what it would have let through
        </button>
        {seen && (
          <button
            type="button"
            className="button primary"
            onClick={() => add.mutate(seen.draft)}
            disabled={add.isPending}
          >
            Add this rule
          </button>
        )}
        <span role="status">{add.data && `${add.data.rule} is in force.`}</span>
      </div>
      {seen && <Preview preview={seen.preview} />}
    </form>
  )
}

function Preview({ preview: { of, would } }: { preview: RulePreview }) {
  const refused = would.filter(({ state }) => state === 'rejected' || state === 'rolled-back')
  return (
    <div role="status">
      <p className={refused.length > 0 ? 'tone-wait' : undefined}>
        {refused.length > 0 && '▲ '}Of the latest {of} decided proposals it would have let through {would.length}
        {refused.length > 0 && `, of which ${refused.length} were rejected or rolled back`}.
      </p>
      <ul className="settings-rows">
        {would.map(({ agent, proposal, state, claim }) => (
          <li key={`${agent} ${proposal}`}>
            <a href={hrefOf({ screen: 'review', agent, proposal })}>{proposal}</a>{' '}
            <span className="muted">{state}</span>
            <InertText text={claim} />
          </li>
        ))}
      </ul>
    </div>
  )
}

function draftOf(form: FormData): RuleDraft {
  const text = (name: string) => String(form.get(name) ?? '').trim()
  const list = (name: string) =>
    text(name)
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
  return {
    agent: text('agent') === '' ? null : text('agent'),
    tags: list('tags'),
    except: list('except'),
    maxChangedLines: Number(text('lines')),
    days: Number(text('days')),
  }
}
