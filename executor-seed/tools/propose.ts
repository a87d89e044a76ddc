import type { Tool } from '../tool.ts'

export const tool: Tool<{ claim: string; why: string; evidence?: number[] }> = {
  name: 'propose',
  description:
    'Submit the changes to your own source for review. You work on meanwhile; the outcome comes as a message.',
  properties: {
    claim: { type: 'string', description: 'one sentence: what gets better' },
    why: { type: 'string' },
    evidence: { type: 'array', items: { type: 'integer' }, description: 'seq of events from history' },
  },
  required: ['claim', 'why'],
  async run(args, kernel) {
    const { proposal, revision, state, note } = await kernel.call('policy.propose', {
      claim: args.claim,
      why: args.why,
      evidence: args.evidence ?? [],
    })
    const known = note === undefined ? '' : ` It is ${note}.`
    return `${proposal} (revision ${revision.slice(0, 12)}) is ${state}.${known} Work on; the outcome comes as a message.`
  },
}
