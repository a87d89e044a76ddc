import { KernelError } from '../errors.ts'
import type { History } from '../history/history.ts'
import type { ArtifactRef } from '../wire/executor.ts'
import type { Artifacts } from './artifacts.ts'

const maxBytes = 16 * 1024 * 1024

/** Artifacts as events of `history`, their values as blobs; the index is kept by the writer in the commit of the event. */
export function createArtifacts({ history }: { history: History }): Artifacts {
  /** The last put of each agent and name that is under way. */
  const underWay = new Map<string, Promise<unknown>>()

  /** One after the other for a name, so that a version is read and taken without another put in between. */
  async function inTurn<T>(agent: string, name: string, work: () => Promise<T>): Promise<T> {
    const key = JSON.stringify([agent, name])
    const turn = (underWay.get(key) ?? Promise.resolve()).then(work, work)
    const settled = turn.catch(() => undefined)
    underWay.set(key, settled)
    try {
      return await turn
    } finally {
      if (underWay.get(key) === settled) underWay.delete(key)
    }
  }

  return {
    async put(agent, name, text, context, expectVersion) {
      checkName(name)
      checkText(text)
      return inTurn(agent, name, async () => {
        const latest = (await history.artifactVersions(agent, name)).at(-1)?.version ?? 0
        if (expectVersion !== undefined && expectVersion !== latest) {
          const state = latest === 0 ? 'does not exist' : `is at version ${latest}`
          throw new KernelError('conflict', `${name} ${state}, not at ${expectVersion}: read it again`, {
            details: { latest },
          })
        }
        const hash = await history.putBlob(text)
        const data = { name, version: latest + 1, hash, sizeBytes: Buffer.byteLength(text) }
        const [[event]] = await Promise.all([
          history.append([{ kind: 'artifact.written', data, agent, ...context }]),
          history.grantBlob(agent, hash),
        ])
        return { ...data, at: event?.at ?? 0 } satisfies ArtifactRef
      })
    },

    async get(agent, name, version) {
      checkName(name)
      const versions = await history.artifactVersions(agent, name)
      const found = version === undefined ? versions.at(-1) : versions.find((row) => row.version === version)
      if (found === undefined) {
        throw new KernelError(
          'not-found',
          `no artifact ${name}${version === undefined ? '' : ` of version ${version}`}`,
        )
      }
      return { ...found, text: (await history.getBlob(found.hash)).toString('utf8') }
    },

    list: (agent, prefix = '') => history.artifactNames(agent, prefix),

    async versions(agent, name) {
      checkName(name)
      return history.artifactVersions(agent, name)
    },
  }
}

function checkName(name: string): void {
  const isName = /^[A-Za-z0-9._/-]{1,200}$/.test(name) && !name.includes('..') && !/^\/|\/$/.test(name)
  if (isName) return
  throw new KernelError(
    'invalid',
    'the name of an artifact has 1 to 200 characters of A-Z a-z 0-9 . _ / - without `..` and without / at either end',
  )
}

function checkText(text: string): void {
  // Half a surrogate pair has no UTF-8: what was read back would not be what was put.
  if (/\p{Cs}/u.test(text)) throw new KernelError('invalid', 'the text has half of a surrogate pair')
  const size = Buffer.byteLength(text)
  if (size > maxBytes) throw new KernelError('invalid', `an artifact has at most ${maxBytes} bytes, not ${size}`)
}
