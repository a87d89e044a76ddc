import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['{kernel,electron,renderer,executor-seed,simulator,tasks,bench}/**/*.test.{ts,tsx}'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
