// The rules of Hollowmere: a pure function from a state and an action to the next state and an answer.
import { type Land, layOut, levelAt, masteryXp, placesOf, skillNames, type Trade, waysFrom } from './land.ts'
import { draw } from './random.ts'
import { type Answer, recentLimit, type State } from './state.ts'

interface Outcome {
  says: string
  /** What changes; absent where the rules refuse. */
  change?: Partial<State>
}

interface Action {
  usage: string
  /** How many words follow the action's name. */
  words: 0 | 1
  run(state: State, land: Land, word: string): Outcome
}

const actions: Record<string, Action> = {
  look: { usage: 'look', words: 0, run: look },
  map: { usage: 'map', words: 0, run: (_, land) => ({ says: mapOf(land), change: {} }) },
  skills: { usage: 'skills', words: 0, run: (state, land) => ({ says: skillsOf(state, land), change: {} }) },
  go: { usage: 'go PLACE', words: 1, run: go },
  gather: { usage: 'gather RESOURCE', words: 1, run: gather },
  unload: { usage: 'unload', words: 0, run: unload },
  rest: { usage: 'rest', words: 0, run: rest },
  repair: { usage: 'repair TOOL', words: 1, run: repair },
  help: { usage: 'help', words: 0, run: () => ({ says: `Actions: ${usages()}. One action a call.`, change: {} }) },
}

function usages(): string {
  return Object.values(actions)
    .map((action) => `world ${action.usage}`)
    .join(', ')
}

/** Why `args` is not one action, as text that says what is; null where it is one. Such a call never reaches the world's state. */
export function misuse(args: readonly string[]): string | null {
  const [name = '', ...words] = args
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined
  if (!action) return `${name === '' ? 'No action given' : `There is no action "${name}"`}. Actions: ${usages()}.`
  if (words.length === action.words) return null
  return `Write: world ${action.usage}. One action a call; names have no spaces. Actions: ${usages()}.`
}

/**
 * The state after one action, and its answer. Refused actions change only the count.
 *
 * @param key names the action for `recent`; an action that `recent` already holds must not be passed again.
 * @param args for which `misuse` is null.
 */
export function act(state: State, key: string, args: readonly string[]): { state: State; answer: Answer } {
  const [name = '', word = ''] = args
  const action = actions[name]
  if (!action) throw new Error(`not an action: ${name}`)
  const land = layOut(state.seed)
  const outcome = action.run(state, land, word)
  const next: State = { ...state, ...outcome.change, count: state.count + 1 }
  const text = ['map', 'skills', 'help'].includes(name) ? outcome.says : `${outcome.says}\n${statusLine(next, land)}`
  const answer: Answer = { text, code: outcome.change ? 0 : 1 }
  next.recent = [...state.recent, { key, answer }].slice(-recentLimit)
  return { state: next, answer }
}

/** One line in a fixed form, the last of most answers: all that a player needs to choose the next action. */
export function statusLine(state: State, land: Land): string {
  const tools = land.trades.map((t) => `${t.tool} ${state.tools[t.skill]}/${land.toolLife}`).join(' ')
  const xp = land.trades.map((t) => `${t.skill} ${state.xp[t.skill]}/${masteryXp}`).join(' ')
  return `[${state.place}] stamina ${state.stamina}/${land.staminaMax}; bag ${state.bag}/${land.bagSize}; ${tools}; ${xp}`
}

function mapOf(land: Land): string {
  const routes = land.trades.map(
    (t) => `${[land.camp, ...(t.via ? [t.via] : []), t.place].join(' - ')} (${t.resource})`,
  )
  return `Camp is ${land.camp}. Paths: ${routes.join(', ')}.`
}

function skillsOf(state: State, land: Land): string {
  const lines = land.trades.map((t) => {
    const xp = state.xp[t.skill]
    const rank = xp >= masteryXp ? 'mastered' : `level ${levelAt(land, xp)}`
    return `${t.skill} ${xp}/${masteryXp} xp, ${rank}: gather ${t.resource} at ${t.place} with the ${t.tool}`
  })
  const total = skillNames.reduce((sum, skill) => sum + state.xp[skill], 0)
  return [...lines, `total ${total}/${masteryXp * skillNames.length} xp`].join('\n')
}

function look(state: State, land: Land): Outcome {
  const trade = land.trades.find((t) => t.place === state.place)
  const here = trade
    ? `${capital(trade.resource)} can be gathered here with the ${trade.tool}.`
    : state.place === land.camp
      ? 'Camp: here you can unload, rest and repair.'
      : 'A place on the way, with nothing to gather.'
  return { says: `${here} Ways: ${waysFrom(land, state.place).join(', ')}.`, change: {} }
}

function go(state: State, land: Land, to: string): Outcome {
  const ways = waysFrom(land, state.place)
  if (to === state.place) return { says: `You are at ${to} already. Ways: ${ways.join(', ')}.` }
  if (!placesOf(land).includes(to)) return { says: `There is no place "${to}". Ways from here: ${ways.join(', ')}.` }
  if (!ways.includes(to)) return { says: `No path leads straight to ${to}. Ways from here: ${ways.join(', ')}.` }
  // Walking is never refused: a tired walker gets to camp, slowly.
  const says = vary(state, [`You walk to ${to}.`, `The path brings you to ${to}.`, `You reach ${to} before long.`])
  return { says, change: { place: to, stamina: Math.max(0, state.stamina - 1) } }
}

function gather(state: State, land: Land, resource: string): Outcome {
  const trade = land.trades.find((t) => t.resource === resource)
  if (!trade) {
    return { says: `There is no "${resource}" here. To gather: ${land.trades.map((t) => t.resource).join(', ')}.` }
  }
  const { skill, tool } = trade
  if (state.place !== trade.place) return { says: `No ${resource} here: it is at ${trade.place}. See: world map.` }
  if (state.xp[skill] >= masteryXp) return { says: `You have mastered ${skill}; ${resource} teaches nothing more.` }
  if (state.bag >= land.bagSize) return { says: `The bag is full. Unload at ${land.camp}.` }
  if (state.tools[skill] < 1) return { says: `The ${tool} is worn out. Repair it at ${land.camp}.` }
  if (state.stamina < land.gatherCost) return { says: `Too tired to gather. Rest at ${land.camp}.` }
  const catches = draw(state.luck)
  const luck = draw(catches.next)
  const spent: Partial<State> = {
    luck: luck.next,
    stamina: state.stamina - land.gatherCost,
    tools: { ...state.tools, [skill]: state.tools[skill] - 1 },
  }
  if (catches.value < land.missShare) {
    const misses = [
      `You try for ${resource} and come away with nothing.`,
      `The ${resource} gets away; no xp this time.`,
    ]
    return { says: vary(state, misses), change: spent }
  }
  return { says: gained(state, land, trade, luck.value, spent), change: spent }
}

/** Fills in what a successful gathering changes, and says it. */
function gained(state: State, land: Land, trade: Trade, luck: number, change: Partial<State>): string {
  const before = state.xp[trade.skill]
  const level = levelAt(land, before)
  const after = Math.min(masteryXp, before + land.xpBase + level - 1 + Math.floor(luck * 3) - 1)
  change.bag = state.bag + 1
  change.xp = { ...state.xp, [trade.skill]: after }
  const { resource, tool, skill } = trade
  const found = vary(state, [
    `You gather some ${resource}`,
    `The ${tool} does its work: ${resource}`,
    `Good ${resource}`,
  ])
  const news =
    after >= masteryXp
      ? ` ${capital(skill)} is mastered!`
      : levelAt(land, after) > level
        ? ` ${capital(skill)} is level ${levelAt(land, after)} now.`
        : ''
  return `${found}, +${after - before} ${skill} xp.${news}`
}

function unload(state: State, land: Land): Outcome {
  if (state.place !== land.camp) return { says: `You can unload only at camp, ${land.camp}.` }
  if (state.bag === 0) return { says: 'The bag is empty: there is nothing to unload.' }
  const stored = state.stored + state.bag
  return { says: `You unload the bag. ${stored} goods lie in store.`, change: { bag: 0, stored } }
}

function rest(state: State, land: Land): Outcome {
  if (state.place !== land.camp) return { says: `You can rest only at camp, ${land.camp}.` }
  if (state.stamina === land.staminaMax) return { says: 'You are not tired at all.' }
  const says = vary(state, ['You sleep by the fire and wake rested.', 'An hour by the fire restores you.'])
  return { says, change: { stamina: land.staminaMax } }
}

function repair(state: State, land: Land, tool: string): Outcome {
  const trade = land.trades.find((t) => t.tool === tool)
  if (!trade) return { says: `You have no "${tool}". Your tools: ${land.trades.map((t) => t.tool).join(', ')}.` }
  if (state.place !== land.camp) return { says: `You can repair only at camp, ${land.camp}.` }
  if (state.tools[trade.skill] === land.toolLife) return { says: `The ${tool} is as good as new already.` }
  const says = vary(state, [`You mend the ${tool}; it is as good as new.`, `The ${tool} is sharp and sound again.`])
  return { says, change: { tools: { ...state.tools, [trade.skill]: land.toolLife } } }
}

/** Words change from action to action without drawing on luck: wording must not move the game. */
function vary(state: State, texts: readonly string[]): string {
  return texts[(state.count + state.seed) % texts.length] as string
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}
