import { describe, expect, it } from 'vitest'
import { withoutTools } from './offered.ts'

const responses = (...names: string[]) => names.map((name) => ({ type: 'function', name, parameters: {} }))
const chat = (...names: string[]) => names.map((name) => ({ type: 'function', function: { name, parameters: {} } }))
const off = new Set(['shell'])

describe('a request without the tools that are in quarantine', () => {
  it('offers the others, in their order, in either API and for custom tools too', () => {
    const body = { model: 'm', tools: responses('read', 'shell', 'write'), input: 'x' }
    expect(withoutTools(body, off)).toEqual({ ...body, tools: responses('read', 'write') })
    expect(Object.keys(withoutTools(body, off))).toEqual(['model', 'tools', 'input'])
    expect(withoutTools({ tools: chat('shell', 'read') }, off)).toEqual({ tools: chat('read') })
    const custom = [{ type: 'custom', name: 'shell' }, { type: 'custom', custom: { name: 'shell' } }, ...chat('read')]
    expect(withoutTools({ tools: custom }, off)).toEqual({ tools: chat('read') })
  })

  it('is the very same where nothing is to be left out', () => {
    const body = { tools: responses('read'), tool_choice: 'auto' }
    expect(withoutTools(body, off)).toBe(body)
    expect(withoutTools(body, new Set())).toBe(body)
  })

  it('neither forces nor allows one of them', () => {
    const tools = responses('read', 'shell')
    const left = responses('read')
    expect(withoutTools({ tools, tool_choice: { type: 'function', name: 'shell' } }, off)).toEqual({
      tools: left,
      tool_choice: 'auto',
    })
    const allow = (...names: string[]) => ({
      type: 'allowed_tools',
      mode: 'auto',
      tools: names.map((name) => ({ type: 'function', name })),
    })
    expect(withoutTools({ tools, tool_choice: allow('read', 'shell') }, off)).toEqual({
      tools: left,
      tool_choice: allow('read'),
    })
    expect(withoutTools({ tools, tool_choice: allow('shell') }, off)).toEqual({ tools: left, tool_choice: 'none' })
    const inChat = { type: 'function', function: { name: 'shell' } }
    expect(withoutTools({ tools: chat('read', 'shell'), tool_choice: inChat }, off)).toMatchObject({
      tool_choice: 'auto',
    })
  })

  it('has no field about tools where all of them are gone', () => {
    const body = { tools: responses('shell'), tool_choice: 'required', parallel_tool_calls: false, model: 'm' }
    expect(withoutTools(body, off)).toEqual({ model: 'm' })
  })
})
