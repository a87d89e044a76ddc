import { defineConfig } from 'vitest/config'

// One host at a time: each opens a real window or browser, and the machine has few cores.
export default defineConfig({
  test: {
    include: ['e2e/**/*.e2e.test.ts'],
    pool: 'forks',
    fileParallelism: false,
    // Waits end with what they wait for; this is for a machine with other work.
    expect: { poll: { timeout: 5 * 60_000 } },
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
