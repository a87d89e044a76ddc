import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['{kernel,electron,renderer,executor-seed,simulator,tasks,bench}/**/*.test.{ts,tsx}'],
    pool: 'forks',
    maxWorkers: 2,
    globalSetup: './kernel/testing/store-thread.ts',
    // On a busy machine a process can come late; the log names what passed only at the second try (retry x1).
    retry: process.env.CI ? 1 : 0,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
