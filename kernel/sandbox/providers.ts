import { KernelError } from '../errors.ts'
import type { ProviderName, ProviderReport, SandboxProvider } from './sandbox.ts'

/** Every provider of this host behind one interface, so that a caller need not know which one a task has. */
export interface Providers extends SandboxProvider {
  /** Of every provider, in order of preference. */
  reports(): Promise<ProviderReport[]>
}

/**
 * A spec or a place that names a provider gets that one, or a refusal: never another in its stead. One that names none gets
 * the first that can be had, in the order given.
 */
export function chooseProvider(providers: readonly SandboxProvider[]): Providers {
  const named = new Map(providers.map((provider) => [provider.name, provider]))

  async function first(): Promise<SandboxProvider> {
    for (const provider of providers) if ((await provider.report()).available) return provider
    return providers.at(-1) ?? none()
  }

  async function of(sandbox: ProviderName | undefined): Promise<SandboxProvider> {
    if (sandbox === undefined) return first()
    const provider = named.get(sandbox)
    if (provider === undefined) throw new KernelError('unavailable', `this host has no ${sandbox} boxes`)
    return provider
  }

  return {
    get name() {
      return (providers[0] ?? none()).name
    },
    report: async () => (await first()).report(),
    reports: () => Promise.all(providers.map((provider) => provider.report())),
    start: async (spec) => (await of(spec.sandbox)).start(spec),
    run: async (spec, options) => (await of(spec.sandbox)).run(spec, options),
    async freeze(label) {
      const thaws: (() => Promise<void>)[] = []
      const thaw = async (): Promise<void> => {
        for (const go of thaws.splice(0)) await go()
      }
      try {
        for (const provider of providers) thaws.push((await provider.freeze(label)).thaw)
        return { thaw }
      } catch (error) {
        await thaw()
        throw error
      }
    },
    killAll: async (label) => sum(await Promise.all(providers.map((provider) => provider.killAll(label)))),
    open: async (place) => (await of(place.sandbox)).open(place),
    snapshot: async (place, name) => (await of(place.sandbox)).snapshot(place, name),
    restore: async (place, name) => (await of(place.sandbox)).restore(place, name),
    clone: async (place, name, to) => (await of(place.sandbox)).clone(place, name, to),
    snapshots: async (place) => (await of(place.sandbox)).snapshots(place),
    forget: async (place, name) => (await of(place.sandbox)).forget(place, name),
    destroy: async (place) => (await of(place.sandbox)).destroy(place),
    // One that cannot be had has nothing that could be looked for; it looks when it comes back.
    reap: async () => {
      const reaped = providers.map(async (provider) => ((await provider.report()).available ? provider.reap() : 0))
      return sum(await Promise.all(reaped))
    },
    async close() {
      await Promise.all(providers.map((provider) => provider.close()))
    },
  }
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}

function none(): never {
  throw new KernelError('unavailable', 'this host has no provider of boxes')
}
