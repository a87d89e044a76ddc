import { ORPCError } from '@orpc/server'
import { type Preferences, preferencesSchema } from '../../kernel/wire/operator-settings.ts'
import { os } from './fake-contract.ts'
import type { FakeWorld } from './fake-world.ts'

/** Settings over an invented machine. A model named `down` does not answer. */
export function fakeSettings(world: FakeWorld) {
  let preferences: Preferences = preferencesSchema.parse({})
  return {
    settings: {
      preferences: os.settings.preferences.handler(() => ({ preferences, problem: null })),
      setPreferences: os.settings.setPreferences.handler(({ input }) => {
        preferences = preferencesSchema.parse({ ...preferences, ...input })
        return preferences
      }),
      sizes: os.settings.sizes.handler(() => ({
        dataDir: '/home/me/.local/share/exodesk',
        rows: [
          { what: 'log' as const, sizeBytes: 412_000_000, files: 5 },
          { what: 'search' as const, sizeBytes: 96_000_000, files: 3 },
          { what: 'archive' as const, sizeBytes: 1_310_000_000, files: 2 },
          { what: 'revisions' as const, sizeBytes: 2_400_000, files: 310 },
          { what: 'tasks' as const, sizeBytes: 640_000_000, files: 18_211 },
          { what: 'snapshots' as const, sizeBytes: 220_000_000, files: 4 },
          { what: 'other' as const, sizeBytes: 8_400_000, files: 6 },
        ],
        totalBytes: 2_688_800_000,
        freeBytes: 41_000_000_000,
        unread: [],
      })),
      examineSandbox: os.settings.examineSandbox.handler(() => [
        {
          ...{ name: 'docker' as const, available: false, detail: '', reason: 'No Docker engine answers.', probes: [] },
          ...{ fix: 'sudo apt-get install docker.io', error: null },
        },
        {
          ...{ name: 'local' as const, available: true, detail: 'bubblewrap 0.8.0', reason: null, fix: null },
          error: null,
          probes: ['user and groups', 'network', 'processes of others', 'files of the host'].flatMap((probe, at) =>
            ['task', 'executor'].map((profile) => ({
              ...{ holds: !(at === 3 && profile === 'task'), profile, probe, expected: 'none' },
              saw: at === 3 && profile === 'task' ? '/etc/machine-id is there' : 'none',
            })),
          ),
        },
      ]),
      testModel: os.settings.testModel.handler(({ input }) => {
        if (input.model === 'nobody') throw new ORPCError('invalid', { message: `there is no model ${input.model}` })
        const isDown = input.model === 'down'
        return {
          ...{ ok: !isDown, simulated: input.model.startsWith('sim-'), attempts: isDown ? 3 : 1, durationMs: 412 },
          text: isDown ? null : 'ready',
          error: isDown ? 'The endpoint does not answer: connection refused.' : null,
          usage: isDown ? null : { uncached: 19, cacheRead: 0, cacheWrite: 0, output: 2, reasoning: 0 },
          ...{ costNanoUsd: isDown ? 0 : 61_000, costReason: null },
        }
      }),
      diagnostics: os.settings.diagnostics.handler(() => ({
        text: `Exodesk        0.1.0, headless host, contract from source\nruns on        Node 24.21.0, linux-x64 6.1.0\ndata           ~/.local/share/exodesk\nhistory        ${world.events.length} events, verified\nsandbox local  bubblewrap 0.8.0\nkeys           2 sealed, open, by keychain\ntasks          1 running, 1 to decide\n`,
      })),
    },
  }
}
