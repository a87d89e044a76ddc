import { os } from './fake-contract.ts'
import { hash } from './fake-hash.ts'

/** Exports that are never written. */
export const fakeExports = {
  preview: os.exports.preview.handler(({ input }) => ({
    events: 1412,
    findings:
      input.format === 'bundle'
        ? []
        : [
            { rule: 'keys' as const, count: 2, examples: [{ text: null, count: 2, seq: 118 }] },
            { rule: 'lookalikes' as const, count: 0, examples: [] },
            {
              rule: 'home' as const,
              count: 41,
              examples: [
                { text: '/home/me', count: 39, seq: 12 },
                { text: '/Users/someone', count: 2, seq: 207 },
              ],
            },
            { rule: 'email' as const, count: 3, examples: [{ text: 'ada@example.org', count: 3, seq: 91 }] },
          ],
    file: `/home/me/.local/share/exodesk/exports/${input.task ?? input.agent ?? 'history'}-20261130-101500.${input.format}`,
    blocked: null,
  })),
  write: os.exports.write.handler(({ input }) => ({
    file: input.file ?? '/home/me/.local/share/exodesk/exports/T-1.md',
    sizeBytes: 812_004,
    hash: hash(77),
    events: 1412,
    redacted: [
      { rule: 'keys' as const, count: 2 },
      { rule: 'home' as const, count: 41 },
    ],
    seq: 1413,
  })),
  import: os.exports.import.handler(({ input }) => ({
    folder: input.folder,
    events: 1412,
    head: hash(78),
    exportedAt: Date.now() - 86_400_000,
  })),
}
