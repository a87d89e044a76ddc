import { layOut, levelAt, masteryXp } from './land.ts'
import type { State } from './state.ts'

const barWidth = 20

/** The world as a picture in plain text, at most 72 columns: where the player is, how far along, what happened last. */
export function frameOf(state: State): string {
  const land = layOut(state.seed)
  const mark = (place: string) => (place === state.place ? `@${place}` : place)
  const indent = ' '.repeat(land.camp.length + 1)
  const routes = land.trades.map((trade, i) => {
    const start = i === 0 ? mark(land.camp).padEnd(land.camp.length + 1) : indent
    const steps = [start, ...(trade.via ? [mark(trade.via)] : []), mark(trade.place)]
    return `  ${steps.join(' -- ')} (${trade.resource})`
  })
  const skills = land.trades.map(({ skill }) => {
    const xp = state.xp[skill]
    return `  ${skill.padEnd(12)}${bar(xp, masteryXp)} ${`${xp}/${masteryXp}`.padStart(7)} xp  level ${levelAt(land, xp)}`
  })
  const tools = land.trades.map(({ tool, skill }) => `${tool} ${state.tools[skill]}/${land.toolLife}`).join('  ')
  const last = state.recent.at(-1)?.answer.text.split('\n')[0] ?? 'Nothing has happened yet.'
  return [
    `  HOLLOWMERE   seed ${state.seed}   action ${state.count}`,
    '',
    ...routes,
    '',
    ...skills,
    `  ${'stamina'.padEnd(12)}${bar(state.stamina, land.staminaMax)} ${`${state.stamina}/${land.staminaMax}`.padStart(7)}`,
    `  bag ${'#'.repeat(state.bag)}${'.'.repeat(land.bagSize - state.bag)}   in store ${state.stored}   ${tools}`,
    '',
    `  > ${last}`,
  ]
    .map((line) => line.slice(0, 72).trimEnd())
    .join('\n')
}

function bar(value: number, full: number): string {
  const filled = Math.floor((value / full) * barWidth)
  return '#'.repeat(filled) + '.'.repeat(barWidth - filled)
}
