import { useQuery } from '@tanstack/react-query'
import type { Preferences } from '../../../kernel/wire/operator-settings.ts'
import { sections } from '../../features/settings/sections.ts'
import { useAgents, useDesk, useProposals, useTasks } from '../../lib/desk.tsx'
import { shortHash } from '../../lib/format.ts'
import { invoke } from '../../lib/keys.ts'
import { changePreferences, usePreferences } from '../../lib/preferences.ts'
import { go, type Route } from '../../lib/route.ts'
import { boundTo, scopeOf, shortcuts } from '../../lib/shortcuts.ts'
import type { Entry } from './palette-entries.ts'
import { screens, settingsScreen } from './screens.ts'
import type { Pausing } from './use-pausing.ts'

interface Actions {
  pausing: Pausing
  onSheet: () => void
}

/** Everything that the palette goes to. */
export function useEntries(route: Route, actions: Actions): { entries: Entry[]; isLoading: boolean } {
  const tasks = useTasks()
  const proposals = useProposals()
  const agents = useAgents()
  const revisions = useRevisionsOf(agents.data?.map(({ agent }) => agent) ?? [])
  const { keys } = usePreferences().preferences
  const entries: Entry[] = [
    ...[...screens, settingsScreen].map(
      ({ route: to, name, chord }): Entry => ({
        ...{ id: `screen ${name}`, kind: 'Screen', name, chord: bound(chord, keys), weight: 2, run: () => go(to) },
      }),
    ),
    ...useActions(route, actions),
    ...(proposals.data ?? []).toReversed().map(
      ({ agent, proposal, claim, state }): Entry => ({
        ...{ id: `proposal ${agent} ${proposal}`, kind: 'Proposal', name: proposal },
        hint: `${agent}: ${claim.slice(0, 120)} (${state})`,
        weight: state === 'ready' ? 12 : 0,
        run: () => go({ screen: 'review', agent, proposal }),
      }),
    ),
    ...(tasks.data ?? []).toReversed().map(
      ({ task, title, agent, state }): Entry => ({
        ...{ id: `task ${task}`, kind: 'Task', name: task, hint: `${title}, ${agent} (${state})` },
        weight: state === 'finished' ? 0 : 10,
        run: () => go({ screen: 'live', task }),
      }),
    ),
    ...(revisions.data ?? []).map(
      ({ agent, activation, revision, claim, state }): Entry => ({
        ...{ id: `revision ${agent} ${activation}`, kind: 'Revision', name: `r${activation}` },
        hint: `${agent} ${shortHash(revision)}: ${claim?.slice(0, 120) ?? 'starting policy'} (${state})`,
        run: () => go({ screen: 'revisions', agent }),
      }),
    ),
    ...sections.map(
      ({ section, name, words }): Entry => ({
        ...{ id: `setting ${section}`, kind: 'Setting', name, hint: words },
        run: () => go({ screen: 'settings', section }),
      }),
    ),
  ]
  return { entries, isLoading: tasks.isPending || proposals.isPending || agents.isPending || revisions.isPending }
}

function bound(chord: string, keys: Preferences['keys']): string {
  const found = shortcuts.find((each) => each.scope === 'Everywhere' && each.chord === chord)
  return found === undefined ? chord : boundTo(found, keys)
}

function useActions(route: Route, { pausing, onSheet }: Actions): Entry[] {
  const desk = useDesk()
  const { keys, theme } = usePreferences().preferences
  const action = (name: string, run: () => void, more: Partial<Entry> = {}): Entry => ({
    ...{ id: `action ${name}`, kind: 'Action', name, run, weight: 1 },
    ...more,
  })
  const here = scopeOf(route)
  // Bare keys only move or mark: they may as well be chosen by name. What has a modifier stays where its context is seen.
  const own = shortcuts
    .filter(({ scope, chord }) => scope === here && !chord.startsWith('Mod+'))
    .map(
      (each): Entry => ({
        ...{ id: each.id, kind: 'Key', name: each.text, hint: each.scope, chord: boundTo(each, keys) },
        // Its keys hear nothing before the palette has gone.
        run: () => void setTimeout(() => invoke(each.chord)),
      }),
    )
  return [
    action('Pause all running tasks', pausing.pauseAll, { chord: bound('Mod+Shift+.', keys) }),
    action('Resume all that were paused together', pausing.resumeAll, { needsModifier: true, chord: 'Mod+enter' }),
    action('Keyboard shortcuts', onSheet, { chord: bound('?', keys) }),
    action('Copy a link to this place', () => void navigator.clipboard.writeText(location.href), {
      hint: location.hash,
    }),
    ...(['system', 'light', 'dark'] as const)
      .filter((name) => name !== theme)
      .map((name) =>
        action(`Theme: ${name === 'system' ? 'follow the system' : name}`, () => {
          void changePreferences(desk, { theme: name })
        }),
      ),
    ...own,
  ]
}

/** Newest first. Made old by what changes revisions. */
function useRevisionsOf(agents: readonly string[]) {
  const desk = useDesk()
  return useQuery({
    queryKey: ['revisions', 'all', ...agents],
    queryFn: async () => {
      const rows = await Promise.all(
        agents.map(async (agent) => (await desk.revisions.list({ agent })).map((row) => ({ agent, ...row }))),
      )
      return rows.flat().sort((a, b) => b.at - a.at)
    },
  })
}
