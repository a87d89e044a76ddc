import { describe, expect, it } from 'vitest'
import { requestOf } from './new-task.tsx'

function formOf(fields: Record<string, string>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  return form
}

describe('the request of a new task', () => {
  it('leaves out what is left empty', () => {
    const form = formOf({ pack: 'p', listed: 'sim-apprentice', budget: '', budgetTokens: ' ', api: 'chat' })
    expect(requestOf(form, [])).toEqual({ pack: 'p', propose: false, model: 'sim-apprentice' })
  })

  it('names the API of another model, and both budgets', () => {
    const form = formOf({
      pack: 'p',
      listed: 'other',
      model: 'm',
      baseUrl: 'http://127.0.0.1:8000/v1',
      api: 'chat',
      budget: '0.5',
      budgetTokens: '20000',
      propose: 'on',
    })
    expect(requestOf(form, [])).toEqual({
      pack: 'p',
      propose: true,
      model: 'm',
      baseUrl: 'http://127.0.0.1:8000/v1',
      api: 'chat',
      budgetNanoUsd: 500_000_000,
      budgetTokens: 20_000,
    })
    form.set('api', 'responses')
    expect(requestOf(form, []).api).toBe('responses')
  })
})
