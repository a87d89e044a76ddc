import type { Artifacts } from '../artifacts/artifacts.ts'
import { KernelError } from '../errors.ts'
import type { ArtifactWrite, History } from '../history/history.ts'
import type { ArtifactRow, ArtifactVersionRow } from '../wire/operator-tools.ts'

/** More of an artifact is cut in the view. */
const shownBytes = 1024 * 1024

/** Names as the starting policy and the kernel give them. */
const kinds: [kind: ArtifactRow['kind'], prefix: RegExp][] = [
  ['memory', /^memory\//],
  ['skill', /^skills?\//],
  ['summary', /^summar(?:y|ies)\//],
  ['note', /^notes?\//],
]

/** What an agent keeps, with who wrote it and where. */
export function createArtifactDesk({ history, artifacts }: { history: History; artifacts: Artifacts }) {
  return {
    async list(agent: string): Promise<ArtifactRow[]> {
      const byName = new Map<string, ArtifactWrite[]>()
      for (const one of await history.artifactWrites(agent))
        byName.set(one.name, [...(byName.get(one.name) ?? []), one])
      return [...byName.values()].flatMap((writes) => {
        const latest = writes.reduce((last, one) => (one.version > last.version ? one : last))
        const kind = kinds.find(([, prefix]) => prefix.test(latest.name))?.[0] ?? 'other'
        const { version: _version, hash: _hash, seq: _seq, ...row } = shown(latest)
        return { ...row, kind, versions: writes.length }
      })
    },
    async versions(agent: string, name: string): Promise<ArtifactVersionRow[]> {
      const writes = await history.artifactWrites(agent, name)
      if (writes.length === 0) throw new KernelError('not-found', `agent ${agent} has no artifact ${name}`)
      return writes.map(shown).sort((a, b) => b.version - a.version)
    },
    async read(agent: string, name: string, version?: number) {
      const found = await artifacts.get(agent, name, version)
      const bytes = Buffer.from(found.text)
      const isCut = bytes.length > shownBytes
      // A character that the cut goes through is left out.
      const text = isCut
        ? bytes
            .subarray(0, shownBytes)
            .toString('utf8')
            .replace(/\uFFFD$/, '')
        : found.text
      return { text, version: found.version, totalBytes: bytes.length, isCut }
    },
  }
}

function shown({ name, version, hash, sizeBytes, at, seq, actor, task, revision }: ArtifactWrite): ArtifactVersionRow {
  return { name, version, hash, sizeBytes, at, seq, by: actor, task, revision }
}
