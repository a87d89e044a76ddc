import { KernelError } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import type { History } from '../history/history.ts'
import { draft, type Event, type EventDraft } from '../wire/events.ts'
import type { ProfileChange, ProfileView } from '../wire/operator-review.ts'
import { orderProblem, type Settings, settingsSchema } from './checks/profile.ts'
import type { Core } from './core.ts'
import { checksChanged, waiting } from './state.ts'

const profileName = 'default'

/** The profile as it was last recorded. */
export async function lastProfile(history: History): Promise<{ version: number; hash: string; settings: Settings }> {
  const last = await history.latest({ agent: null }, 'profile.changed')
  if (last === null) return { version: 0, hash: '', settings: { checks: {} } }
  return { version: last.data.version ?? 0, hash: last.data.hash, settings: settingsOf(last) }
}

/** Before there were settings, none were recorded. */
function settingsOf({ data: { body } }: Event<'profile.changed'>): Settings {
  if (body === undefined) return { checks: {} }
  return settingsSchema.parse((body as { settings?: unknown }).settings)
}

/** The guardian's profile: read by all, changed by a person alone. */
export function createProfile(core: Core) {
  const { history } = core.parts

  /** The change, and the end of whatever was checked under the old one, in one commit. */
  async function record(
    profile: Core['profile'],
    version: number,
    by: 'kernel' | 'operator',
    reason?: string,
  ): Promise<number> {
    const { hash, checks, probation, expiresAfterMs, settings } = profile
    const demands = checks.map(({ name, gates, runs, thresholds }) => ({ check: name, gates, runs, thresholds }))
    const body = JSON.parse(JSON.stringify({ settings, checks: demands, probation, expiresAfterMs }))
    const names = checks.map(({ name }) => name)
    const said = reason === undefined ? {} : { reason }
    const data = { profile: profileName, hash, checks: names, version, body, ...said }
    const drafts: EventDraft[] = [draft('profile.changed', data, { actor: by })]
    for (const state of core.ledger.agents()) {
      for (const { proposal, task } of waiting(state)) {
        const why = { reason: checksChanged }
        drafts.push(draft('proposal.expired', { proposal, ...why }, { actor: 'kernel', agent: state.agent, task }))
      }
    }
    failpoint('profile:before-changed')
    const [event] = await history.append(drafts)
    core.adopt(profile, version)
    return event?.seq ?? 0
  }

  return {
    /** Records the profile where it is not that of the last record: the kernel's own checks have changed. */
    async ensure(): Promise<void> {
      await core.ledger.lockedAll(async () => {
        const last = await lastProfile(history)
        if (last.hash !== core.profile.hash) await record(core.profile, last.version + 1, 'kernel')
      })
    },

    get(): ProfileView {
      const { checks, probation, expiresAfterMs, hash } = core.profile
      return {
        version: core.profileVersion,
        hash,
        checks: checks.map(({ name, description, gates, runs, thresholds, defaults }) => ({
          ...{ check: name, description, gates, runs },
          thresholds: { ...thresholds },
          defaults: { ...defaults },
        })),
        probation,
        expiresAfterMs,
      }
    },

    /** @throws KernelError `conflict` unless `version` is the one in force; `invalid` names what there is not. */
    async set({
      version,
      checks = [],
      order,
      probation,
      expiresAfterMs,
      reason,
    }: ProfileChange): Promise<{ seq: number }> {
      core.requireOpen()
      return core.ledger.lockedAll(async () => {
        if (version !== core.profileVersion)
          throw new KernelError(
            'conflict',
            `the profile is at version ${core.profileVersion}, not ${version}: look at it again`,
          )
        const { settings } = core.profile
        const next: Settings = { ...settings, checks: { ...settings.checks } }
        for (const { check, thresholds, ...flags } of checks) {
          requireKnown(core, check, Object.keys(thresholds ?? {}))
          const before = next.checks[check] ?? {}
          const merged = thresholds === undefined ? {} : { thresholds: { ...before.thresholds, ...thresholds } }
          next.checks[check] = { ...before, ...flags, ...merged }
        }
        if (order !== undefined) {
          const problem = orderProblem(core.profile.checks, order)
          if (problem !== null) throw new KernelError('invalid', problem)
          next.order = [...order]
        }
        if (probation !== undefined) next.probation = probation
        if (expiresAfterMs !== undefined) next.expiresAfterMs = expiresAfterMs
        const profile = core.profileWith(next)
        if (profile.hash === core.profile.hash)
          throw new KernelError('invalid', 'nothing changed: the profile says that already')
        return { seq: await record(profile, version + 1, 'operator', reason) }
      })
    },
  }
}

function requireKnown({ profile }: Core, check: string, thresholds: readonly string[]): void {
  const known = profile.checks.find(({ name }) => name === check)
  if (known === undefined)
    throw new KernelError(
      'invalid',
      `there is no check ${check}: there are ${profile.checks.map(({ name }) => name).join(', ')}`,
    )
  const unknown = thresholds.filter((name) => !Object.hasOwn(known.defaults, name))
  const names = Object.keys(known.defaults)
  if (unknown.length > 0)
    throw new KernelError(
      'invalid',
      `check ${check} has no threshold ${unknown.join(', ')}: it has ${names.length === 0 ? 'none' : names.join(', ')}`,
    )
}
