import { expect, it } from 'vitest'
import { namespaceFix } from './host.ts'

it.each([
  ['AppArmor', 'kernel/apparmor_restrict_unprivileged_userns', '1', /apparmor_restrict_unprivileged_userns=0$/],
  ['Debian’s own switch', 'kernel/unprivileged_userns_clone', '0', /unprivileged_userns_clone=1$/],
  ['a count of none', 'user/max_user_namespaces', '0', /max_user_namespaces=\d+$/],
])('[X14] names what keeps an ordinary user from a user namespace: %s', (_what, name, value, fix) => {
  const read = (asked: string) => (asked === name ? value : '')
  expect(namespaceFix(read, true)).toMatch(fix)
  // Root needs none; and where nothing stands in the way, nothing is named.
  expect([namespaceFix(read, false), namespaceFix(() => '', true)]).toEqual([undefined, undefined])
})
