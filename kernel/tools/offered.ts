import type { History } from '../history/history.ts'

/** Latest requests that are looked through for a tool's schema. */
const requestsLookedBack = 20

/** The tool as the last request that offered it did; null: none of the latest did. */
export async function offeredAs(history: History, agent: string, tool: string) {
  const { events } = await history.read(
    { agent },
    { kinds: ['model.called'], order: 'desc', limit: requestsLookedBack },
  )
  const seen = new Set<string>()
  for (const event of events) {
    if (event.kind !== 'model.called') continue
    const { items } = await history.getRequest(event.data.request)
    const hash = items.find(({ kind }) => kind === 'tools')?.hash
    if (hash === undefined || seen.has(hash)) continue
    seen.add(hash)
    const tools: unknown = JSON.parse((await history.getBlob(hash)).toString('utf8'))
    const found = Array.isArray(tools) ? tools.find((one) => nameOf(one) === tool) : undefined
    if (found !== undefined) return found
  }
  return null
}

function nameOf(tool: { name?: unknown; function?: { name?: unknown }; custom?: { name?: unknown } }): unknown {
  return tool.function?.name ?? tool.custom?.name ?? tool.name
}
