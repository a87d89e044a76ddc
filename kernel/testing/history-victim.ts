// Appends to a history, and says on stdout what was acknowledged. Argument: data directory.
import { systemClock } from '../clock.ts'
import { openHistory } from '../history/open.ts'

const [dataDir = ''] = process.argv.slice(2)
const history = await openHistory({ dataDir, clock: systemClock, version: 'test' })
const say = (text: string) => process.stdout.write(`${text}\n`)
/** Enough for several checkpoints of the write-ahead log, which come with every four thousand pages. */
const large = 'x'.repeat(200_000)

await Promise.all(
  [0, 1, 2].map(async (worker) => {
    for (let n = 0; n < 120; n += 1) {
      const text = `${worker}.${n}`
      const hash = await history.putBlob(text)
      const [note] = await history.append([
        { kind: 'note.added', data: { text: n % 2 === 0 ? text : `${text} ${large}` }, actor: 'kernel' },
        {
          kind: 'artifact.written',
          data: { name: text, version: 1, hash, sizeBytes: text.length },
          actor: 'kernel',
          agent: 'a',
        },
      ])
      say(`${note?.seq} ${note?.hash}`)
    }
  }),
)
await history.close()
