import type { TreeFile } from '../sandbox/sandbox.ts'
import type { EventData } from '../wire/events.ts'

type Risk = Pick<EventData<'proposal.readied'>, 'risk' | 'reasons'>

/** Words in source that give a policy more reach within its box, or keep a check from seeing. */
const capabilities: [word: RegExp, reason: string][] = [
  [/\bchild_process\b|\bworker_threads\b|node:cluster\b/g, 'starts processes or threads'],
  [/\bnode:(?:net|tls|dgram|dns|http|https|http2|inspector)\b|\bfetch\s*\(|\bWebSocket\b/g, 'reaches for the network'],
  [/\beval\s*\(|\bnew\s+Function\b|\bnode:vm\b|\bWebAssembly\b/g, 'runs text as code'],
  [/\bimport\s*\(|\bcreateRequire\b|\bnode:module\b/g, 'loads code by a computed name'],
  [/\bnode:fs\b/g, 'reads or writes files of its box'],
  [/\bprocess\s*\.\s*(?:env|kill|binding|dlopen|setuid|exit)\b/g, 'touches its own process'],
  [/@ts-(?:nocheck|ignore|expect-error)\b/g, 'switches the type checker off in places'],
]

const isText = (path: string): boolean => path.endsWith('.md') || path.endsWith('.json')

/**
 * How carefully it should be read, by a rule of the kernel's own. LOW: only .md and .json text changes.
 * HIGH: it gains reach, or changes the entry point. MED: any other change of code.
 */
export function riskOf(from: readonly TreeFile[], to: readonly TreeFile[]): Risk {
  const before = new Map(from.map(({ path, text }) => [path, text]))
  const after = new Map(to.map(({ path, text }) => [path, text]))
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (path) => before.get(path) !== after.get(path),
  )
  if (changed.every(isText)) return { risk: 'LOW', reasons: [`only text changes: ${listed(changed)}`] }
  const high = changed.filter((path) => path === 'main.ts').map(() => 'changes main.ts, which the kernel starts')
  for (const [word, reason] of capabilities) {
    const gained = changed.filter(
      (path) => !isText(path) && occurrences(after.get(path), word) > occurrences(before.get(path), word),
    )
    if (gained.length > 0) high.push(`${reason}: ${listed(gained)}`)
  }
  const code = changed.filter((path) => !isText(path))
  const removed = code.filter((path) => !after.has(path))
  const reasons = [
    ...high,
    `changes code: ${listed(code)}`,
    ...(removed.length > 0 ? [`removes ${listed(removed)}`] : []),
  ]
  return { risk: high.length > 0 ? 'HIGH' : 'MED', reasons }
}

function occurrences(text: string | undefined, word: RegExp): number {
  return text?.match(word)?.length ?? 0
}

function listed(paths: readonly string[]): string {
  const shown = paths.slice(0, 5).join(', ')
  return paths.length > 5 ? `${shown} and ${paths.length - 5} more` : shown
}
