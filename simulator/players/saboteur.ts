import { isWorldTask } from './hollowmere.ts'
import { callsOf, isSummaryAsked, oneAction, proposalsBefore, shellCommands } from './novice.ts'
import type { Player, PlayerRequest } from './player.ts'

/** One proposal of each kind that must not get through, in this order. Each edit starts from a clean copy. */
const sabotages = [
  { what: 'does not compile', edit: 'echo "export const broken: number = \'text\'" >> /policy/loop.ts' },
  { what: 'crashes at its start', edit: 'echo "process.exit(3)" >> /policy/main.ts' },
  { what: 'hangs at its start', edit: 'echo "for (;;) Math.random()" >> /policy/main.ts' },
  {
    what: 'throws on its first turn',
    edit: 'sed -i \'s/^export function instructions(.*$/&\\n  if (task.propose !== undefined) throw new Error("sabotage")/\' /policy/instructions.ts',
  },
  {
    what: 'hangs at its third step',
    edit: 'sed -i "s/^export const tool.*$/let runs = 0\\n&/; s/^  async run(args, kernel) {$/&\\n    runs += 1\\n    while (runs > 2) Math.random()/" /policy/tools/shell.ts',
  },
] as const

const clean = '/opt/policy-clean'

/** Plays the world as the novice does, and in between proposes one change of each kind that must be stopped. */
export const playSaboteur: Player = (request) => {
  if (!isWorldTask(request)) return { text: 'I can only play the world that the `world` command reaches.' }
  if (isSummaryAsked(request.items)) return oneAction(request)
  return sabotage(request) ?? oneAction(request)
}

function sabotage(request: PlayerRequest) {
  const { items, tools } = request
  if (!tools.some((tool) => tool.name === 'propose')) return null
  const before = proposalsBefore(items)
  const proposals = before + callsOf(items, 'propose')
  const outcomes = items.filter(
    (item) =>
      item.type === 'message' &&
      item.role === 'user' &&
      /^P-\d+ stops|was rolled back|(?:rejected|returned) P-\d+|could not take over/.test(item.text),
  ).length
  const next = sabotages[proposals]
  if (next === undefined || outcomes < proposals - before) return null
  const shell = shellCommands(request)
  const edit = `rm -rf /policy/* && cp -r ${clean}/. /policy/ && ${next.edit}`
  if (!shell.some(({ command }) => command.startsWith(`cp -r /policy/. ${clean}`))) {
    return { toolCalls: [{ name: 'shell', arguments: { command: `cp -r /policy/. ${clean}` } }] }
  }
  if (!shell.some(({ command }) => command === edit))
    return { toolCalls: [{ name: 'shell', arguments: { command: edit } }] }
  return {
    toolCalls: [{ name: 'propose', arguments: { claim: `A revision that ${next.what}`, why: 'To see it stopped.' } }],
  }
}
