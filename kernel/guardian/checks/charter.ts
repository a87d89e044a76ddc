import type { ComponentTag, componentTracks } from '../../wire/operator-checks.ts'
import type { FileFacts } from './facts/file-facts.ts'
import { isTest } from './facts/tests.ts'

export { isTest }

/**
 * What of a policy its agent may edit, and what each part is called (decision 0010). A part of the check's rules: who changes
 * it makes another profile.
 */
export const charter = {
  /** The agent may neither add, change nor remove these; a person may. */
  forbidden: ['wire.ts'],
  /** The first that fits. */
  components: [
    ['tests/', 'test'],
    ['tools/remember.ts', 'memory'],
    ['tools/', 'tool'],
    ['toolbox.ts', 'tool'],
    ['tool.ts', 'tool'],
    ['instructions.ts', 'prompt'],
    ['messages.ts', 'prompt'],
    ['context.ts', 'context'],
    ['compaction.ts', 'context'],
    ['model.ts', 'model'],
    ['apis.ts', 'model'],
    ['responses.ts', 'model'],
    ['chat.ts', 'model'],
    ['loop.ts', 'loop'],
    ['turn.ts', 'loop'],
    ['budget.ts', 'loop'],
    ['main.ts', 'control'],
    ['executor.ts', 'control'],
    ['kernel.ts', 'control'],
    ['wire.ts', 'control'],
  ],
} as const satisfies { forbidden: string[]; components: [string, ComponentTag][] }

/** However it is written: on some disks `Wire.ts` is the same file. */
export function isForbidden(path: string): boolean {
  return charter.forbidden.some((one) => one === path.toLowerCase())
}

/** Why no proposal may change it, whoever makes it, and what to do. */
export function keptWords(path: string): string {
  return (
    `${path} is the policy’s end of the wire: no proposal changes it, yours neither, since all that is checked and shown rests on it. ` +
    'Leave it as it is and take the rest (approve a part, or edit another file); it changes only with a new version of Exodesk'
  )
}

/** By its place, and by what its source does: a tool is one wherever it lies. */
export function tagsOf(path: string, facts: FileFacts): ComponentTag[] {
  const tags = new Set<ComponentTag>()
  const placed = charter.components.find(([place]) => (place.endsWith('/') ? path.startsWith(place) : path === place))
  if (isTest(path)) tags.add('test')
  else if (placed !== undefined) tags.add(placed[1])
  if (/\.(?:md|txt)$/.test(path)) tags.add('doc')
  const has = (kind: string, what?: string) =>
    facts.capabilities.some((one) => one.kind === kind && (what === undefined || one.what === what))
  if (has('tool')) tags.add('tool')
  if (has('wire', 'artifact.put') || has('wire', 'artifact.get')) tags.add('memory')
  if (has('wire', 'model.call') || has('loop', 'model calls in a loop')) tags.add('loop')
  if (has('wire', 'history.read') && !tags.has('tool')) tags.add('context')
  if (has('process')) tags.add('control')
  // Sentences in a file that nothing else is known of.
  if (tags.size === 0 && has('prompt')) tags.add('prompt')
  return [...tags]
}

export function tracksOf(tags: readonly ComponentTag[]): (typeof componentTracks)[number][] {
  const tracks = tags.map((tag) => {
    if (tag === 'tool') return 'tools'
    return tag === 'prompt' || tag === 'context' || tag === 'memory' || tag === 'doc' ? 'guidance' : 'control'
  })
  return [...new Set(tracks)]
}
