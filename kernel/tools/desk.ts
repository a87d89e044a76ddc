import type { Clock } from '../clock.ts'
import { KernelError } from '../errors.ts'
import type { History } from '../history/history.ts'
import type { TokenCounter } from '../models/models.ts'
import type { Revisions } from '../revisions/revisions.ts'
import type { TreeFile } from '../sandbox/sandbox.ts'
import { draft, type EventDraft } from '../wire/events.ts'
import type { ToolDetail, ToolRow } from '../wire/operator-tools.ts'
import { createFigures } from './figures.ts'
import { offeredAs } from './offered.ts'
import { createReader, type TreeReader } from './reading.ts'
import { type Activation, type AgentRecord, createRecord, type Named } from './record.ts'
import type { Quarantine, SourceFacts, ToolDesk } from './tools.ts'

interface ToolDeskParts {
  history: History
  revisions: Pick<Revisions, 'read' | 'hashes'>
  quarantine: Quarantine
  tokens: TokenCounter
  clock: Clock
  /** By the syntax tree, in order; null: it cannot be had now, and sources are read by their words. */
  read: (files: readonly TreeFile[]) => Promise<readonly SourceFacts[] | null>
}

/** Calls that are shown of a tool, good and failing. */
const samplesShown = 5

interface Look {
  record: AgentRecord
  active: Activation
  tree: readonly TreeFile[]
  hashes: readonly ReadonlyMap<string, string>[]
  reader: TreeReader
  named: (Named & { isOffered: boolean })[]
}

/** @see ToolDesk */
export function createToolDesk(parts: ToolDeskParts): ToolDesk {
  const { history, revisions, quarantine, clock } = parts
  const record = createRecord(history)
  const figures = createFigures(parts)
  const readerOf = createReader(parts.read)
  const trees = new Map<string, ReadonlyMap<string, string>>()

  async function hashesOf(revision: string): Promise<ReadonlyMap<string, string>> {
    const known = trees.get(revision)
    if (known !== undefined) return known
    const hashes = await revisions.hashes(revision)
    if (trees.size > 1000) trees.clear()
    trees.set(revision, hashes)
    return hashes
  }

  async function look(agent: string): Promise<Look> {
    const [found, held] = await Promise.all([record.of(agent), quarantine.of(agent)])
    const active = found.activations.at(-1) as Activation
    const [tree, hashes] = await Promise.all([
      revisions.read(active.revision),
      Promise.all(found.activations.map(({ revision }) => hashesOf(revision))),
    ])
    // What is in quarantine and no longer named stays in sight: its name may come back.
    const { isOfActive, tools } = found.current
    const gone = [...held.keys()].filter((name) => !tools.some((tool) => tool.name === name))
    // Those of another revision are there as far as their files are.
    const isThere = ({ file }: Named) => isOfActive || file === undefined || tree.some(({ path }) => path === file)
    const named = [
      ...tools.map((tool) => ({ ...tool, isOffered: isThere(tool) })),
      ...gone.map((name) => ({ name, description: '', isOffered: false })),
    ]
    return { record: found, active, tree, hashes, named, reader: await readerOf(active.revision, tree) }
  }

  async function rows(agent: string, { record: found, tree, hashes, named, reader }: Look, only?: string) {
    const shown = only === undefined ? named : named.filter(({ name }) => name === only)
    const [held, operations, figure] = await Promise.all([
      quarantine.of(agent),
      history.toolOperations(agent),
      figures.of(
        agent,
        shown.map(({ name }) => name),
        clock.now(),
      ),
    ])
    const row = async ({ name, description, file, isOffered }: Look['named'][number]): Promise<ToolRow> => {
      const path = file !== undefined && tree.some((one) => one.path === file) ? file : null
      const fileHash = path === null ? null : (hashes.at(-1)?.get(path) ?? null)
      const life = lifeOf(name, path, found.activations, hashes)
      const declared = path === null ? [] : reader.declared(path)
      const observed = operations.filter((one) => one.name === name).map(({ operation }) => operation)
      const { audited, retirementAsked } = found.marks.get(name) ?? { audited: null, retirementAsked: null }
      const { since } = life
      return {
        tool: name,
        description,
        isOffered,
        origin: life.isSeed ? 'seed' : 'learned',
        file: path,
        fileHash,
        declared,
        declaredBy: reader.by,
        observed,
        // Of a tool that is not there any more there is no source to hold against what it did.
        undeclared: isOffered ? observed.filter((operation) => !declared.includes(operation)) : [],
        introduced:
          since === null
            ? null
            : {
                ...{ activation: since.activation, at: since.at, proposal: since.proposal },
                ...{ author: since.author, by: since.by },
              },
        changedBy: life.changes.flatMap(({ proposal }) => proposal ?? []),
        ...figure(name),
        tests:
          path === null ? 0 : reader.importers(path).filter((file) => /(?:^|\/)tests?\/|\.test\.ts$/.test(file)).length,
        audit: audited === null ? 'none' : audited.hash === fileHash ? 'audited' : 'stale',
        auditedAt: audited?.at ?? null,
        quarantined: held.get(name) ?? null,
        retirementAskedAt:
          retirementAsked !== null && retirementAsked.seq > (since?.seq ?? 0) ? retirementAsked.at : null,
        saved: life.isSeed || since === null ? null : await figures.saved(agent, name, since.activation),
      }
    }
    return Promise.all(shown.map(row))
  }

  /** @throws KernelError `not-found`, naming what there is. */
  async function one(agent: string, tool: string): Promise<{ seen: Look; row: ToolRow }> {
    const seen = await look(agent)
    const [row] = await rows(agent, seen, tool)
    if (row !== undefined) return { seen, row }
    const there = seen.named.map(({ name }) => name).join(', ')
    throw new KernelError('not-found', `agent ${agent} has no tool ${tool}; it has ${there || 'none yet'}`)
  }

  async function add(one: EventDraft): Promise<{ seq: number }> {
    const [event] = await history.append([one])
    return { seq: event?.seq ?? 0 }
  }
  const by = (agent: string) => ({ actor: 'operator', agent }) as const

  return {
    async list(agent: string): Promise<ToolRow[]> {
      return rows(agent, await look(agent))
    },

    async get(agent: string, tool: string): Promise<ToolDetail> {
      const { seen, row } = await one(agent, tool)
      const { tree, hashes, reader, record: found } = seen
      const path = row.file
      const latest = await figures.finished(agent, tool)
      const good = latest.filter(({ data }) => data.outcome === 'ok').slice(0, samplesShown)
      const failing = latest.filter(({ data }) => data.outcome !== 'ok').slice(0, samplesShown)
      const samples = [...good, ...failing].sort((a, b) => b.seq - a.seq)
      const versions = path === null ? [] : versionsOf(path, found.activations, hashes)
      return {
        ...row,
        source: tree.find((file) => file.path === path)?.text ?? null,
        schema: await offeredAs(history, agent, tool),
        versions: versions.reverse(),
        callers: path === null ? [] : reader.importers(path),
        samples: await Promise.all(
          samples.map(async (event) => {
            const called = await callOf(history, agent, event.data.call, tool, event.seq)
            const { seq, at, task, data } = event
            return { seq, at, task, outcome: data.outcome, output: data.output.slice(0, 4000), arguments: called }
          }),
        ),
      }
    },

    async source(agent: string, tool: string, revision: string): Promise<{ text: string | null }> {
      const { seen, row } = await one(agent, tool)
      if (!seen.record.activations.some((activation) => activation.revision === revision))
        throw new KernelError('not-found', `revision ${revision.slice(0, 12)} was never active for ${agent}`)
      return { text: (await revisions.read(revision)).find(({ path }) => path === row.file)?.text ?? null }
    },

    async quarantine(agent: string, tool: string, reason: string): Promise<{ seq: number }> {
      const { row } = await one(agent, tool)
      if (row.quarantined !== null) throw new KernelError('conflict', `${tool} is in quarantine already`)
      return add(draft('tool.quarantined', { tool, reason }, by(agent)))
    },

    async release(agent: string, tool: string, reason: string): Promise<{ seq: number }> {
      if (!(await quarantine.of(agent)).has(tool)) throw new KernelError('conflict', `${tool} is not in quarantine`)
      return add(draft('tool.released', { tool, reason }, by(agent)))
    },

    async audit(agent: string, tool: string, hash: string, note: string): Promise<{ seq: number }> {
      const { row } = await one(agent, tool)
      if (row.fileHash === null)
        throw new KernelError(
          'conflict',
          `the executor names no file of its tree for ${tool}, so there is nothing to audit`,
        )
      if (row.fileHash !== hash)
        throw new KernelError('conflict', `${row.file} has changed since it was shown: read it again`)
      return add(draft('tool.audited', { tool, hash, note }, by(agent)))
    },

    async askRetirement(agent: string, tool: string, reason: string): Promise<{ seq: number }> {
      const { row } = await one(agent, tool)
      if (!row.isOffered) throw new KernelError('conflict', `the agent has no tool ${tool} any more`)
      return add(draft('tool.retirement-asked', { tool, reason }, by(agent)))
    },
  }
}

/**
 * Since when a tool of this name and file has been there without a break, and where its bytes changed since. Of the
 * starting policy is what the first executor named, in the same file: a new name in an old file is a new tool.
 */
function lifeOf(
  name: string,
  path: string | null,
  activations: readonly Activation[],
  hashes: readonly ReadonlyMap<string, string>[],
): { since: Activation | null; isSeed: boolean; changes: Activation[] } {
  const isThere = (at: number): boolean => {
    const tools = activations[at]?.tools ?? null
    if (tools !== null) return tools.some((tool) => tool.name === name)
    return path !== null && hashes[at]?.has(path) === true
  }
  let from = activations.length
  while (from > 0 && isThere(from - 1)) from -= 1
  const since = activations[from] ?? null
  const changes = activations.slice(from + 1).filter((_, index) => {
    const at = from + 1 + index
    return path !== null && hashes[at]?.get(path) !== hashes[at - 1]?.get(path)
  })
  const first = activations[0]
  const isSeed =
    from === 0 && path !== null && first?.tools?.some((tool) => tool.name === name && tool.file === path) === true
  return { since, isSeed, changes }
}

/** Where the bytes of its file became what they were, oldest first. */
function versionsOf(
  path: string,
  activations: readonly Activation[],
  hashes: readonly ReadonlyMap<string, string>[],
): ToolDetail['versions'] {
  return activations.flatMap(({ activation, revision, at, proposal }, index) => {
    const hash = hashes[index]?.get(path) ?? null
    const before = index === 0 ? null : (hashes[index - 1]?.get(path) ?? null)
    return hash === before ? [] : [{ activation, revision, at, proposal, hash }]
  })
}

/** The arguments of a call, where its event is among the last of this tool before its end. */
async function callOf(history: History, agent: string, call: string, tool: string, before: number): Promise<string> {
  const { events } = await history.read({ agent }, { tool, kinds: ['tool.called'], before, order: 'desc', limit: 20 })
  for (const event of events)
    if (event.kind === 'tool.called' && event.data.call === call) return event.data.arguments.slice(0, 4000)
  return ''
}
