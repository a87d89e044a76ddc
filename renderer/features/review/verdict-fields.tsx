import type { RefObject } from 'react'
import type { ProposalDetail } from '../../../kernel/wire/operator.ts'
import { type Category, categories, type Draft } from './draft.ts'
import type { Review } from './use-review.ts'

export const deferChoices = { '1 hour': 1, '4 hours': 4, '1 day': 24, '1 week': 168 } as const
export type DeferChoice = keyof typeof deferChoices
export const defaultDefer: DeferChoice = '1 hour'

export function deferUntil(choice: DeferChoice, now: number): number {
  return now + deferChoices[choice] * 3_600_000
}

interface Props {
  draft: Draft
  change: Review['change']
  field: RefObject<HTMLInputElement | null>
  risk: ProposalDetail['risk']
  deferFor: DeferChoice
  onDeferFor: (choice: DeferChoice) => void
}

/** What goes with a verdict: its reason, and the choices that some of them take. Nothing here is preselected towards yes. */
export function VerdictFields({ draft, change, field, risk, deferFor, onDeferFor }: Props) {
  return (
    <div className="verdict-row verdict-fields">
      <input
        ref={field}
        className="field verdict-reason"
        data-testid="reject-reason"
        value={draft.reason}
        maxLength={4000}
        onChange={(event) => change({ reason: event.target.value })}
        aria-label="Reason"
        placeholder={risk === 'HIGH' ? 'Reason: required for either verdict' : 'Reason: required to reject or return'}
      />
      <label>
        <span className="muted">reject as </span>
        <select
          className="field small"
          data-testid="category"
          value={draft.category ?? ''}
          onChange={(event) => change({ category: categoryOf(event.target.value) })}
        >
          <option value="">no category</option>
          {categories.map((each) => (
            <option key={each} value={each}>
              {each.replaceAll('-', ' ')}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span className="muted">defer for </span>
        <select
          className="field small"
          value={deferFor}
          onChange={(event) => onDeferFor(event.target.value as DeferChoice)}
        >
          {Object.keys(deferChoices).map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <label>
        <span className="muted">if it goes beyond its limits </span>
        <select
          className="field small"
          data-testid="on-breach"
          value={draft.onBreach}
          onChange={(event) => change({ onBreach: event.target.value === 'rollback' ? 'rollback' : 'propose' })}
        >
          <option value="propose">propose a rollback</option>
          <option value="rollback">roll back at once</option>
        </select>
      </label>
    </div>
  )
}

function categoryOf(value: string): Category | null {
  return categories.find((each) => each === value) ?? null
}
