import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { DeriveInput, FileHunks } from '../../kernel/wire/operator-review.ts'
import { hint } from '../command-name.ts'
import type { Desk } from '../host-client.ts'
import { agentOf, parseAgentCommand } from './agent.ts'
import { BadArguments, type Command, Ended, type ExitCode, exitCode } from './command.ts'
import { withDesk } from './desk.ts'
import { checkLines, overrides } from './proposal-lines.ts'
import { settled } from './proposals.ts'
import { inert, inertLines, say, sayJson, short } from './text.ts'
import { readTree } from './tree.ts'

const waits =
  'It becomes a proposal of your own: its checks run, and it waits for your verdict. Nothing takes effect yet.'

export const hunks: Command = {
  synopsis: 'P-n [--agent A]',
  summary: 'list the hunks of a proposal with their ids, for "exodesk part"',
  async run(args) {
    const { positionals, named, dataDir, json } = parseAgentCommand(args, {}, ['P-n'])
    const [proposal] = positionals as [string]
    return withDesk(dataDir, async ({ desk }) => {
      const agent = await agentOf(desk, named)
      for (const file of await desk.proposals.hunks({ agent, proposal })) {
        const { before, after } = await desk.proposals.file({ agent, proposal, path: file.path })
        const [old, now] = [linesOf(before), linesOf(after)]
        for (const hunk of file.hunks) {
          const removed = rangeOf(old, hunk.beforeLine, hunk.beforeLines)
          const added = rangeOf(now, hunk.afterLine, hunk.afterLines)
          if (json) sayJson({ path: file.path, change: file.change, ...hunk, removed, added })
          else {
            say(`${hunk.id}  ${inert(file.path)}  ${placeOf(hunk)}  ${hunk.risk}`)
            for (const line of removed) say(`  -${inertLines(line)}`)
            for (const line of added) say(`  +${inertLines(line)}`)
          }
        }
      }
      return exitCode.done
    })
  },
}

export const part: Command = {
  synopsis: 'P-n (--keep ID[,ID…] | --drop ID[=WHY] …) [--reason TEXT] [--agent A]',
  summary: 'take some hunks of a proposal and leave the others: "exodesk hunks" lists them',
  notes: [waits, 'The agent is told what fell, and why where --drop says so.'],
  async run(args) {
    const options = {
      keep: { type: 'string', multiple: true },
      drop: { type: 'string', multiple: true },
      reason: { type: 'string' },
    } as const
    const { values, positionals, named, dataDir, json } = parseAgentCommand(args, options, ['P-n'])
    const [proposal] = positionals as [string]
    const kept = ((values.keep as string[] | undefined) ?? []).flatMap((ids) => ids.split(','))
    const dropped = ((values.drop as string[] | undefined) ?? []).map(dropOf)
    if (kept.length > 0 === dropped.length > 0)
      throw new BadArguments('give either --keep, the hunks that stay, or --drop, those that go')
    return withDesk(dataDir, async ({ desk }) => {
      const agent = await agentOf(desk, named)
      const all = await desk.proposals.hunks({ agent, proposal })
      requireKnown(all, [...kept, ...dropped.map(({ id }) => id)])
      const stays = (id: string) => (kept.length > 0 ? kept.includes(id) : !dropped.some((one) => one.id === id))
      const keep = all.map(({ path, hunks: of }) => ({ path, hunks: of.map(({ id }) => id).filter(stays) }))
      const fallen = all.flatMap(({ path, hunks: of }) =>
        of.flatMap(({ id }) =>
          dropped.filter((one) => one.id === id && one.why !== '').map(({ why }) => ({ path, hunk: id, reason: why })),
        ),
      )
      return derive(desk, { agent, proposal, json, reason: values.reason as string | undefined }, { keep, fallen })
    })
  },
}

export const edit: Command = {
  synopsis: 'P-n (--write DIR | --tree DIR) [--reason TEXT] [--agent A]',
  summary: 'change a proposal before it is approved: --write lays out its files, --tree takes them back as edited',
  notes: [waits, 'The agent is told that you edited it, and reads the result.'],
  async run(args) {
    const option = { type: 'string' } as const
    const { values, positionals, named, dataDir, json } = parseAgentCommand(
      args,
      { write: option, tree: option, reason: option },
      ['P-n'],
    )
    const [proposal] = positionals as [string]
    const { write, tree, reason } = values as { write?: string; tree?: string; reason?: string }
    if ((write === undefined) === (tree === undefined))
      throw new BadArguments('give either --write DIR, to lay out the files, or --tree DIR, to take them back')
    const edited = tree === undefined ? [] : await readTree(tree)
    return withDesk(dataDir, async ({ desk }) => {
      const agent = await agentOf(desk, named)
      const { revision } = await desk.proposals.get({ agent, proposal })
      const files = await desk.revisions.files({ revision })
      if (write !== undefined) {
        await layOut(write, files)
        if (json) sayJson({ agent, proposal, dir: write, files: files.length })
        else {
          say(`The ${files.length} files of ${proposal} are in ${write}.`)
          say(hint(`Edit them, then: exodesk edit ${proposal} --agent ${agent} --tree ${write}`))
        }
        return exitCode.done
      }
      const now = new Map(edited.map(({ path, text }) => [path, text]))
      const gone = files.filter(({ path }) => !now.has(path)).map(({ path }) => ({ path, text: null }))
      const changed = edited.filter(({ path, text }) => files.find((file) => file.path === path)?.text !== text)
      if (gone.length + changed.length === 0)
        throw new Ended(exitCode.badArguments, `${tree} holds ${proposal} as it is: nothing was edited`)
      return derive(desk, { agent, proposal, json, reason }, { edits: [...changed, ...gone] })
    })
  },
}

interface About {
  agent: string
  proposal: string
  json: boolean
  reason: string | undefined
}

/** Makes it out of the proposal, waits for its checks, and says how to go on. */
async function derive(
  desk: Desk,
  { agent, proposal: from, json, reason = '' }: About,
  how: Pick<DeriveInput, 'keep' | 'edits' | 'fallen'>,
): Promise<ExitCode> {
  const { nonce, binding } = await desk.proposals.view({ agent, proposal: from })
  const { proposal, revision } = await desk.proposals.derive({ agent, proposal: from, nonce, binding, reason, ...how })
  const { state, checks, unresolved, derivedFrom } = await settled(desk, agent, proposal)
  if (json) sayJson({ proposal, revision, state, from, derivedFrom, unresolved })
  else {
    say(`${proposal}, made out of ${from}, is ${state} (revision ${short(revision)})`)
    for (const line of checkLines(checks)) say(line)
    if (state === 'ready')
      say(hint(`It is not approved yet: exodesk approve ${proposal} --agent ${agent}${overrides(unresolved)}`))
  }
  return state === 'failed-checks' ? exitCode.doesNotHold : exitCode.done
}

/** Into a new folder, or an empty one: no file of anybody's is written over. */
async function layOut(dir: string, files: readonly { path: string; text: string }[]): Promise<void> {
  const there = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw new Ended(exitCode.badArguments, `--write ${dir} cannot be used: ${error.message}`)
  })
  if (there.length > 0) throw new Ended(exitCode.badArguments, `--write ${dir} is not empty: name a new folder`)
  for (const { path, text } of files) {
    await mkdir(dirname(join(dir, path)), { recursive: true })
    await writeFile(join(dir, path), text, { flag: 'wx' })
  }
}

function dropOf(text: string): { id: string; why: string } {
  const [, id, why] = /^([0-9a-f]+)(?:=(.*))?$/s.exec(text) ?? []
  if (id === undefined) throw new BadArguments(`--drop takes ID or ID=WHY, not ${JSON.stringify(text)}`)
  return { id, why: why ?? '' }
}

function requireKnown(all: readonly FileHunks[], ids: readonly string[]): void {
  const known = all.flatMap((file) => file.hunks.map(({ id }) => id))
  const unknown = ids.filter((id) => !known.includes(id))
  if (unknown.length > 0)
    throw new Ended(exitCode.doesNotHold, `there is no hunk ${unknown.join(', ')}: there are ${known.join(', ')}`)
}

function placeOf({ beforeLine, beforeLines, afterLine, afterLines }: FileHunks['hunks'][number]): string {
  return afterLines === 0
    ? `−${beforeLines} from line ${beforeLine}`
    : `+${afterLines} −${beforeLines} at line ${afterLine}`
}

function linesOf(text: string | null): string[] {
  return text === null || text === '' ? [] : text.replace(/\n$/, '').split('\n')
}

const rangeOf = (lines: readonly string[], first: number, count: number) =>
  count === 0 ? [] : lines.slice(first - 1, first - 1 + count)
