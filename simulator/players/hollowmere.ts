import type { Item, PlayerRequest } from './player.ts'

/** What a player has read of the world, from the outputs in its context and nothing else. */
export interface WorldView {
  place: string
  camp: string
  stamina: Measure
  bag: Measure
  /** In the order of the status line; tool `i` belongs to skill `i`. */
  tools: (Measure & { name: string })[]
  skills: (Measure & { name: string; resource: string; site: string })[]
  /** Way from camp to a site, the site included. */
  routes: Map<string, string[]>
}

interface Measure {
  have: number
  full: number
}

const statusLine = /^\[(\S+)\] stamina (\d+)\/(\d+); bag (\d+)\/(\d+); ([^;]+); ([^;]+)$/gm
const mapLine = /Camp is (\S+?)\. Paths: (.+)\.$/m
const skillLine = /^(\S+) \d+\/\d+ xp, [^:]+: gather (\S+) at (\S+) with the (\S+)$/gm

/** The next command of someone who plays one action at a time; `complete` when every skill is mastered. */
export function nextAction(items: readonly Item[]): string | 'complete' {
  const outputs = items.filter((item) => item.type === 'output').map((item) => item.text)
  const map = last(outputs, (text) => mapLine.exec(text))
  if (map === null) return 'world map'
  if (!outputs.some((text) => text.match(skillLine) !== null)) return 'world skills'
  const view = readWorld(outputs)
  if (view === null) return 'world look'
  const index = view.skills.findIndex((skill) => skill.have < skill.full)
  const target = view.skills[index]
  const tool = view.tools[index]
  if (target === undefined || tool === undefined) return 'complete'
  const route = view.routes.get(target.site) ?? []
  if (view.place === view.camp) {
    if (view.bag.have > 0) return 'world unload'
    if (view.stamina.have < view.stamina.full) return 'world rest'
    if (tool.have <= view.bag.full && tool.have < tool.full) return `world repair ${tool.name}`
    return `world go ${route[0]}`
  }
  const canGather = view.bag.have < view.bag.full && tool.have > 0 && view.stamina.have >= 5
  if (view.place === target.site) {
    return canGather ? `world gather ${target.resource}` : `world go ${route.at(-2) ?? view.camp}`
  }
  const at = route.indexOf(view.place)
  const isOutward = at >= 0 && view.bag.have === 0 && view.stamina.have >= view.stamina.full - at - 1
  if (isOutward) return `world go ${route[at + 1]}`
  const home = [...view.routes.values()].find((way) => way.includes(view.place)) ?? []
  return `world go ${home[home.indexOf(view.place) - 1] ?? view.camp}`
}

function readWorld(outputs: readonly string[]): WorldView | null {
  const map = last(outputs, (text) => mapLine.exec(text))
  const status = last(outputs, (text) => [...text.matchAll(statusLine)].at(-1) ?? null)
  if (map === null || status === null) return null
  const lines = outputs.flatMap((text) => [...text.matchAll(skillLine)])
  const [, place = '', stamina, staminaFull, bag, bagFull, tools = '', skills = ''] = status
  const camp = map[1] ?? ''
  return {
    place,
    camp,
    stamina: { have: Number(stamina), full: Number(staminaFull) },
    bag: { have: Number(bag), full: Number(bagFull) },
    tools: measures(tools),
    skills: measures(skills).map((skill) => {
      const line = lines.findLast((found) => found[1] === skill.name)
      return { ...skill, resource: line?.[2] ?? '', site: line?.[3] ?? '' }
    }),
    routes: new Map(
      (map[2] ?? '').split(', ').map((path) => {
        const stops = path
          .replace(/ \(.*\)$/, '')
          .split(' - ')
          .slice(1)
        return [stops.at(-1) ?? '', stops]
      }),
    ),
  }
}

function measures(text: string): (Measure & { name: string })[] {
  return text.split(' ').flatMap((word, index, words) => {
    const amount = /^(\d+)\/(\d+)$/.exec(words[index + 1] ?? '')
    return amount === null ? [] : [{ name: word, have: Number(amount[1]), full: Number(amount[2]) }]
  })
}

function last<T>(texts: readonly string[], read: (text: string) => T | null): T | null {
  for (let index = texts.length - 1; index >= 0; index -= 1) {
    const found = read(texts[index] ?? '')
    if (found !== null) return found
  }
  return null
}

/** The objective speaks of the world command; every other task is beyond these players. */
export function isWorldTask({ items }: PlayerRequest): boolean {
  return items.some((item) => item.type === 'message' && item.role === 'user' && item.text.includes('`world`'))
}
