import { defineConfig } from 'vitest/config'

// One host at a time: each opens a real window or browser, and the machine has few cores.
export default defineConfig({
  test: {
    include: ['e2e/**/*.e2e.test.ts'],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
