import type { Preferences } from '../../kernel/wire/operator-settings.ts'
import type { Route } from './route.ts'

/**
 * Every key that a person can give another. Screens name a key by its usual chord; which one is pressed for it is looked
 * up here. `Everywhere` and `Lists` hold on each screen beside its own.
 */
export type Scope = 'Everywhere' | 'Lists' | 'Home' | 'Live' | 'Review' | 'History' | 'Cost' | 'Revisions' | 'Tools'

export interface Shortcut {
  id: string
  scope: Scope
  /** As delivered. What has a modifier changes the agent, spends money or leaves the screen, and keeps one. */
  chord: string
  text: string
}

const given: Readonly<Record<Scope, readonly (readonly [name: string, chord: string, text: string])[]>> = {
  Everywhere: [
    ['palette', 'Mod+k', 'Go to a screen, task, proposal, revision, setting or action'],
    ['home', 'Mod+1', 'Home'],
    ['live', 'Mod+2', 'Live'],
    ['review', 'Mod+3', 'Review'],
    ['history', 'Mod+4', 'History'],
    ['cost', 'Mod+5', 'Cost'],
    ['tools', 'Mod+6', 'Tools'],
    ['revisions', 'Mod+7', 'Revisions'],
    ['settings', 'Mod+9', 'Settings'],
    ['find', 'Mod+f', 'Find on this screen, where it has a filter; else the find of the browser'],
    ['search', 'Mod+Shift+f', 'Search history'],
    ['pause-all', 'Mod+Shift+.', 'Pause every running task at its next safe point'],
    ['sheet', '?', 'All shortcuts'],
  ],
  Lists: [
    ['next', 'j', 'Next item; in a proposal the next hunk, over all files'],
    ['previous', 'k', 'The item, or hunk, before'],
    ['filter', '/', 'Filter'],
  ],
  Home: [['new-task', 'Mod+n', 'A new task']],
  Live: [
    ['follow', 'end', 'Follow the newest event'],
    ['next-error', 'e', 'Next error'],
    ['pause', 'Mod+.', 'Pause or resume this task'],
  ],
  Review: [
    ['next-file', 'n', 'Next file'],
    ['previous-file', 'p', 'The file before'],
    ['accept', 'a', 'Keep the hunk'],
    ['reject-hunk', 'x', 'Leave the hunk out'],
    ['comment', 'c', 'Comment on the line'],
    ['viewed', 'v', 'Mark the file as viewed, go to the next'],
    ['edit', 'e', 'Edit the proposed text; Escape and the same key end it'],
    ['whitespace', 'w', 'Show or hide whitespace changes'],
    ['whole', 'f', 'Whole file or changes only'],
    ['moves', 'm', 'Show or hide what moved'],
    ['evidence', 't', 'To the evidence'],
    ['fold-files', '[', 'Fold or show the list of files'],
    ['fold-evidence', ']', 'Fold or show the evidence'],
    ['approve', 'Mod+enter', 'Approve, when armed and outside of any field; held down at high risk'],
    ['approve-part', 'Mod+Shift+enter', 'Approve the hunks that are not left out, as a proposal of its own'],
    ['save-edit', 'Mod+s', 'Save your edit, as a proposal of its own'],
    ['return', 'Mod+Shift+r', 'Return to the agent with your comments: first to the reason, then with it'],
    ['reject', 'Mod+Shift+x', 'Reject the proposal: first to the reason, then with it'],
    ['defer', 'Mod+Shift+d', 'Defer'],
    ['trial', 'Mod+t', 'Caps of a trial'],
  ],
  History: [
    ['view', 't', 'The list, newest first, or the tree by task'],
    ['facets', 'f', 'Show or hide what the events are of'],
    ['next-hit', ']', 'Next hit'],
    ['previous-hit', '[', 'The hit before'],
    ['copy-link', 'y', 'Copy a link to the open event'],
  ],
  Cost: [
    ['turn', '1', 'One turn'],
    ['task', '2', 'One task'],
    ['agent', '3', 'One agent'],
    ['today', '4', 'Today'],
    ['all', '5', 'All'],
  ],
  Revisions: [
    ['baseline', 'b', 'Compare with the marked activation as the baseline'],
    ['difference', 'd', 'What the marked activation and the active one differ in'],
    ['roll-back', 'Mod+Shift+b', 'Roll back to the marked activation: opens the preview, then confirms it'],
  ],
  Tools: [
    ['difference', 'd', 'In an open tool or artifact: what changed'],
    ['audited', 'Mod+u', 'Mark the open tool as audited, as its file stands now'],
    ['quarantine', 'Mod+Shift+k', 'Quarantine the open tool, or release it: asks for the reason'],
  ],
}

export const scopes = Object.keys(given) as Scope[]
export const shortcuts: readonly Shortcut[] = scopes.flatMap((scope) =>
  given[scope].map(([name, chord, text]) => ({ id: `${scope.toLowerCase()}.${name}`, scope, chord, text })),
)

/** Belong to the page, the browser or the system, or are how one leaves and confirms. */
const reserved = /^(escape|enter|tab|Shift\+tab| |Mod\+[acvxzwq]|Mod\+Shift\+z|Mod\+[-+=0])$/

type Keys = Preferences['keys']

/** What is pressed for it now. */
export function boundTo({ id, chord }: Shortcut, keys: Keys): string {
  return keys[id] ?? chord
}

function holdsIn(scope: Scope, here: Scope | null): boolean {
  return scope === here || scope === 'Everywhere' || scope === 'Lists'
}

export function scopeOf(route: Route): Scope | null {
  const name = `${route.screen.charAt(0).toUpperCase()}${route.screen.slice(1)}`
  return scopes.find((scope) => scope === name) ?? null
}

/** The usual chord of what a person means who presses this one here; '' where it was taken away from what it meant. */
export function meant(pressed: string, here: Scope | null, keys: Keys): string {
  const known = shortcuts.filter(({ scope }) => holdsIn(scope, here))
  const own = known.toSorted((a, b) => Number(b.scope === here) - Number(a.scope === here))
  const found = own.find((shortcut) => boundTo(shortcut, keys) === pressed)
  if (found !== undefined) return found.chord
  return known.some(({ chord }) => chord === pressed) ? '' : pressed
}

/** What is pressed here for a usual chord. */
export function pressedFor(chord: string, here: Scope | null, keys: Keys): string {
  const known = shortcuts.filter((each) => each.chord === chord && holdsIn(each.scope, here))
  const found = known.find(({ scope }) => scope === here) ?? known[0]
  return found === undefined ? chord : boundTo(found, keys)
}

/** Why this key cannot be had for it, in a sentence; null: it can. */
export function refusal(
  shortcut: Shortcut,
  chord: string,
  keys: Keys,
  print: (chord: string) => string,
): string | null {
  if (!/^(Mod\+)?(Shift\+)?(\S{1,20})$/.test(chord) || reserved.test(chord))
    return `${chord.trim() === '' ? 'This key' : print(chord)} is kept for moving, leaving, typing or the window. Choose another.`
  if (shortcut.chord.startsWith('Mod+') && !chord.startsWith('Mod+'))
    return `“${shortcut.text}” needs ${print('Mod')}: a key alone must not do it by accident.`
  const other = shortcuts.find(
    (each) =>
      each.id !== shortcut.id &&
      boundTo(each, keys) === chord &&
      (holdsIn(each.scope, shortcut.scope) || holdsIn(shortcut.scope, each.scope)),
  )
  return other === undefined
    ? null
    : `${print(chord)} is “${other.text}” (${other.scope}). Give that another key first.`
}
