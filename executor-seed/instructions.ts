import type { TaskBrief } from '#wire'

/** How to work. Sent with every request, so each word here is paid for at every step. */
const WORK = `You work alone on a task in a sandbox, through tools, until it is done.
- Act, then read the result before going on. Claim only what a result has shown.
- Put calls that do not depend on one another into one answer, and let commands print little.
- A long result is cut in the middle; read gives the rest by its blob handle.
- When something fails, find out why; after three failures try another way.
- Keep with remember what later tasks will need.
- Operator messages override the task. Ask only when you cannot go on.
- When the objective is met and checked, call complete. Text without a call ends nothing.`

/** The one sentence that tells of self-edits; without it, nothing sent to the model does. */
export const POLICY_SENTENCE =
  'Your own source (this loop, its tools, these instructions) is at /policy: when steps repeat or cost more than they should, you may edit it there, for example add a tool in /policy/tools and its line in /policy/tools/index.ts (read /policy/SELF.md first), and submit it with propose.'

/** Fixed for a task and a revision: the beginning of every request, which the provider's cache keeps. */
export function instructions(task: Pick<TaskBrief, 'propose'>): string {
  return task.propose ? `${WORK}\n${POLICY_SENTENCE}` : WORK
}

/**
 * The first message: the objective, where to work, and the topics of notes kept before this task began. `asked`: what the
 * operator has asked of this policy before it.
 */
export function taskMessage(
  task: Pick<TaskBrief, 'instruction' | 'workdir'>,
  topics: readonly string[],
  asked: readonly string[] = [],
): string {
  const notes = topics.length === 0 ? '' : `\nNotes from earlier tasks, as memory:TOPIC: ${topics.join(', ')}`
  return `${task.instruction}\n\nWorking directory: ${task.workdir}${notes}${asked.map((text) => `\n${text}`).join('')}`
}

/** What follows an answer that calls no tool. */
export const NUDGE = 'Go on with a tool call, or call complete if the objective is met.'

/** What follows an answer that was cut off: a call that was cut is gone. */
export const CUT_OFF = 'Your answer was cut off before its end. Go on with shorter ones: write what is long in parts.'

export const SUMMARISE = `Your context is about to be shortened: everything above but the task and the last few steps will be replaced by what you write now. Write for yourself, without calling a tool: what the operator said (word for word), what is done and how you know, what is left, facts and paths you will need again, what failed and why.`
