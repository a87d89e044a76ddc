import { KernelError } from '../../errors.ts'
import type { Methods } from '../channel.ts'
import type { Running } from '../running.ts'
import { countStored } from './stored.ts'

/** Names under it are the kernel's own, shown on no executor's list. */
const kernelPrefix = 'kernel/'
const blobRange = 262_144

export function storageMethods(
  running: Running,
): Pick<Methods, 'artifact.put' | 'artifact.get' | 'artifact.list' | 'artifact.versions' | 'blob.put' | 'blob.get'> {
  const { artifacts, history } = running.parts
  const { agent } = running.spec

  return {
    async 'artifact.put'({ name, text, expectVersion }) {
      refuseKernelName(name)
      countStored(running, Buffer.byteLength(text))
      const { agent: _, ...place } = running.place('executor')
      const put = await artifacts.put(agent, name, text, place, expectVersion)
      running.memory.kept.changed()
      return put
    },
    async 'artifact.get'({ name, version }) {
      refuseKernelName(name)
      return artifacts.get(agent, name, version)
    },
    async 'artifact.list'({ prefix }) {
      const all = await artifacts.list(agent, prefix)
      return { artifacts: all.filter(({ name }) => !name.startsWith(kernelPrefix)) }
    },
    async 'artifact.versions'({ name }) {
      refuseKernelName(name)
      return { versions: await artifacts.versions(agent, name) }
    },
    async 'blob.put'({ base64 }) {
      const bytes = Buffer.from(base64, 'base64')
      countStored(running, bytes.length)
      const hash = await history.putBlob(bytes)
      await history.grantBlob(agent, hash)
      return { hash }
    },
    async 'blob.get'({ hash, offset = 0, length = blobRange }) {
      // The same answer for what there is not and for what another agent has: nobody learns what others store.
      if (!(await history.mayRead(agent, hash))) throw new KernelError('not-found', `no blob ${hash}`)
      const bytes = await history.getBlob(hash)
      const range = bytes.subarray(offset, offset + length)
      return { base64: range.toString('base64'), offset, totalBytes: bytes.length }
    },
  }
}

function refuseKernelName(name: string): void {
  if (!name.startsWith(kernelPrefix)) return
  throw new KernelError('forbidden', `artifacts named ${kernelPrefix}… are the kernel's own; choose another name`)
}
