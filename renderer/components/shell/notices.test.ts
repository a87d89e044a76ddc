import { expect, it } from 'vitest'
import { withoutName } from './notices.tsx'

it.each([
  ['T-2 is paused: no answer', 'is paused: no answer'],
  ['T-21 is paused', 'T-21 is paused'],
  ['The task waits for T-2 now', 'The task waits for T-2 now'],
])('%j beside the link T-2 is %j', (text, shown) => expect(withoutName(text, 'T-2')).toBe(shown))
