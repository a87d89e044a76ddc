import type { Head } from '../messages.ts'
import type { Queries } from '../queries.ts'
import type { CheckedRange } from './chain.ts'
import { type Finding, report, unreadable, type Verification } from './finding.ts'

/** A thread that reads, for as long as a verification lasts. */
export interface Reader {
  ask<Q extends keyof Queries>(name: Q, ...args: Parameters<Queries[Q]>): Promise<ReturnType<Queries[Q]>>
}

const parts = ['chain', 'derived', 'requests', 'blobs', 'structure'] as const
export type VerifyPart = (typeof parts)[number]

/** Events in one range of the chain, at least; and ranges for each thread, so that none waits long for the last. */
const leastRange = 10_000
const rangesPerThread = 4

/**
 * Checks that history is what it was, in several threads at once: the chain in ranges that are linked at their seams,
 * what follows from it, the requests, every blob, the pages. Writing goes on; events added meanwhile are left to the
 * next time.
 * @param only these parts, for measuring.
 */
export async function verifyFully(
  readers: readonly Reader[],
  only: readonly VerifyPart[] = parts,
): Promise<Verification> {
  const [first] = readers
  if (first === undefined) throw new Error('a verification needs a thread')
  let head: Head | null = null
  const findings: (Finding | null)[] = []
  const notes: string[] = []
  const ranges: CheckedRange[] = []
  try {
    const ends = await first.ask('verifyEnds')
    head = ends.head
    findings.push(ends.finding)
    const upTo = head?.seq ?? 0
    const work: ((reader: Reader) => Promise<unknown>)[] = []
    const part = (name: VerifyPart, check: (reader: Reader) => Promise<unknown>) => {
      if (only.includes(name)) work.push(check)
    }
    // The longest that cannot be divided comes first.
    part('derived', async (reader) => findings.push(await reader.ask('verifyDerived')))
    part('structure', async (reader) => findings.push(await reader.ask('verifyStructure')))
    for (const [index, [after, last]] of split(upTo, readers.length * rangesPerThread).entries()) {
      part('chain', async (reader) => {
        ranges[index] = await reader.ask('verifyRange', after, last)
      })
    }
    part('requests', async (reader) => findings.push(await reader.ask('verifyRequests', upTo)))
    part('blobs', async (reader) => {
      const blobs = await reader.ask('verifyBlobs')
      findings.push(blobs.finding)
      notes.push(...blobs.notes)
    })
    await Promise.all(
      readers.map(async (reader) => {
        for (let check = work.shift(); check !== undefined; check = work.shift()) await check(reader)
      }),
    )
  } catch (error) {
    findings.push(unreadable(error))
  }
  const chain = ranges.map(({ finding }) => finding)
  const events = ranges.reduce((sum, range) => sum + range.events, 0)
  // A link that does not hold says more than the signature or the sums that it breaks.
  const found = chain.some((finding) => finding !== null) ? chain : [...findings, ...seams(ranges)]
  return report({ events, head, notes }, found)
}

function split(upTo: number, pieces: number): [after: number, upTo: number][] {
  const size = Math.max(leastRange, Math.ceil(upTo / pieces))
  const ranges: [number, number][] = []
  for (let after = 0; after < upTo; after += size) ranges.push([after, Math.min(upTo, after + size)])
  return ranges
}

function seams(ranges: readonly CheckedRange[]): Finding[] {
  let seq = 0
  return ranges.flatMap((range, index) => {
    const before = ranges[index - 1]
    const finding: Finding = {
      seq: seq + 1,
      problem: `event ${seq + 1} does not follow event ${seq}: its link is another's`,
      of: 'log',
    }
    seq += range.events
    return before === undefined || before.to === range.from ? [] : [finding]
  })
}
