import { configDefaults, defineConfig } from 'vitest/config'

/** Fork bombs: a box without control groups shares its user's limit of processes with every other box of that user. */
const crowding = ['kernel/sandbox/{local,standing/standing}.test.ts', 'kernel/sandbox/docker/*.test.ts']

export default defineConfig({
  test: {
    pool: 'forks',
    globalSetup: './kernel/testing/store-thread.ts',
    // On a busy machine a process can come late; the log names what passed only at the second try (retry x1).
    retry: process.env.CI ? 1 : 0,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'together',
          include: ['{kernel,electron,renderer,executor-seed,simulator,tasks,bench}/**/*.test.{ts,tsx}'],
          exclude: [...configDefaults.exclude, ...crowding],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: 'alone', include: crowding, maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
    ],
  },
})
