/** What the apprentice has been asked to mend in the tool that it writes. */
export interface ToolWishes {
  name: string
  /** Most actions of one call; null: no bound of its own. */
  mostActions: number | null
  /** Words that a reviewer asked for, as a comment. */
  remark: string | null
}

/** How a tool that plays whole rounds is described: by this a player knows one in its list. */
export const roundDescription =
  'Play whole rounds in the world with the skill that is next: out, gather, back, unload, rest.'

/** Source of `tools/NAME.ts`: a whole round in one call, where a player needs about ten. */
export function roundTool({ name, mostActions, remark }: ToolWishes): string {
  const limit = mostActions ?? 200
  return `import type { Tool } from '../tool.ts'

${remark === null ? '' : `// ${remark.replaceAll(/\s+/g, ' ').slice(0, 180)}\n`}// One call plays what took about ten: a step is paid for its whole context, not for its action.
const mostActions = ${limit}

export const tool: Tool<{ rounds: number }> = {
  name: '${name}',
  description: '${roundDescription}',
  properties: { rounds: { type: 'integer' } },
  required: ['rounds'],
  async run(args, kernel) {
    let actions = 0
    let answer = ''
    const act = async (action: string): Promise<string> => {
      actions += 1
      if (actions > mostActions) throw new Error('stopped after ' + mostActions + ' actions')
      answer = await kernel.exec('world ' + action)
      return answer
    }
    const [have, full] = [0, 1]
    const amounts = (what: string): number[] =>
      (new RegExp('[ ;]' + what + ' (\\\\d+)/(\\\\d+)').exec(answer) ?? []).slice(1).map(Number)
    const map = await act('map')
    const camp = /Camp is (\\S+?)\\./.exec(map)?.[1] ?? ''
    const ways = (/Paths: (.+)\\./.exec(map)?.[1] ?? '').split(', ').map((path) => path.replace(/ \\(.*/, '').split(' - '))
    const walk = async (stops: string[]): Promise<void> => {
      for (const stop of stops) await act('go ' + stop)
    }
    const goHome = async (): Promise<void> => {
      const place = /^\\[(\\S+)\\]/m.exec(answer)?.[1] ?? camp
      const way = ways.find((stops) => stops.includes(place)) ?? [camp]
      await walk(way.slice(0, way.indexOf(place)).reverse())
      if ((amounts('bag')[have] ?? 0) > 0) await act('unload')
      if (amounts('stamina')[have] !== amounts('stamina')[full]) await act('rest')
    }
    for (let round = 0; round < args.rounds; round += 1) {
      const open = [...(await act('skills')).matchAll(/^(\\S+) (\\d+)\\/(\\d+) xp, [^:]+: gather (\\S+) at (\\S+) with the (\\S+)$/gm)]
      const next = open.find(([, , xp, mastery]) => Number(xp) < Number(mastery))
      if (next === undefined) return 'every skill is mastered\\n' + answer
      const [, skill = '', , mastery, resource = '', site = '', tool = ''] = next
      await act('look')
      await goHome()
      const bag = amounts('bag')[full] ?? 0
      const [edge = 0, sharp = 0] = amounts(tool)
      if (edge <= bag && edge < sharp) await act('repair ' + tool)
      await walk(ways.find((stops) => stops.at(-1) === site)?.slice(1) ?? [])
      while (
        (amounts('bag')[have] ?? bag) < bag &&
        (amounts(tool)[have] ?? 0) > 0 &&
        (amounts('stamina')[have] ?? 0) >= 5 &&
        (amounts(skill)[have] ?? 0) < Number(mastery)
      ) {
        await act('gather ' + resource)
      }
      await goHome()
    }
    return answer.split('\\n').at(-1) ?? ''
  },
}
`
}
