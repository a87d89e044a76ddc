import { type Check, fail, pass, unresolved } from './check.ts'
import { undecidable } from './undecidable.ts'

/** The candidate on the recorded answers of a turn: evidence for who reads it, and no gate, since any other behaviour diverges. */
export const tapeReplay: Check = {
  name: 'tape-replay',
  description:
    'Runs the candidate through the last recorded turn on the recorded answers, until it does what was not recorded.',
  gates: false,
  thresholds: {},
  rules: { version: 1 },
  async run({ agent, proposal, revision }, { replays }, signal) {
    const request = { agent, candidate: revision, label: `${agent}.${proposal}.tape`, signal }
    const replay = await undecidable('the replay', () => replays.tape(request))
    if (replay === null)
      return unresolved('no recorded turn to replay: this agent has made no model call yet', { n: 0 })
    if ('verdict' in replay) return replay
    const { turn, recorded, matched, divergedAt, error } = replay
    const where = `turn ${turn} of ${replay.task}`
    if (error !== null)
      return fail(`after ${matched} of ${recorded} recorded model calls of ${where}, ${error}`, replay)
    if (divergedAt !== null)
      return unresolved(
        `diverged at model call ${divergedAt.call} of ${recorded} of ${where}: ${divergedAt.why}`,
        replay,
      )
    return pass(`went through ${where} as recorded: ${recorded} model calls`, replay)
  },
}
