import type { CredentialRow, Vault, VaultStatus } from '../credentials/credentials.ts'
import { KernelError } from '../errors.ts'
import type { History } from '../history/history.ts'
import type { Tasks } from '../tasks/tasks.ts'
import type { Actor } from '../wire/events.ts'

export interface CredentialParts {
  vault: Vault
  history: History
  tasks: Tasks
  /** Brings history up to date with the vault. */
  record(actor: Actor): Promise<void>
  /** Whether tasks go on by themselves in this host. */
  proceeds: boolean
}

/** What the operator does with keys: each change is on disk and in history when it resolves. No result holds a key. */
export function createCredentials({ vault, history, tasks, record, proceeds }: CredentialParts) {
  function requireHistory(): void {
    if (history.problem === null) return
    throw new KernelError('unavailable', `no key is changed while history is open for reading only: ${history.problem}`)
  }

  /** Tasks that were left for want of a key. */
  async function goOn(): Promise<string[]> {
    if (!proceeds) return []
    const waiting = tasks
      .states()
      .filter(({ state, model }) => state === 'interrupted' && model.credential !== undefined)
    const resumed = await Promise.all(
      // One that still wants for something stays as it is, with the reason.
      waiting.map(({ task }) =>
        tasks.resume(task).then(
          () => task,
          () => null,
        ),
      ),
    )
    return resumed.filter((task) => task !== null)
  }

  return {
    status: async (): Promise<VaultStatus & { keys: CredentialRow[] }> => ({
      ...(await vault.status()),
      keys: await vault.list().catch(() => []),
    }),
    async put({ name, key, baseUrl }: { name: string; key: string; baseUrl: string }): Promise<CredentialRow> {
      requireHistory()
      const row = await vault.put(name, key, baseUrl)
      await record('operator')
      await goOn()
      return row
    },
    async remove({ name }: { name: string }): Promise<{ seq: number }> {
      requireHistory()
      await vault.remove(name)
      await record('operator')
      return { seq: history.head()?.seq ?? 0 }
    },
    async unlock({ passphrase }: { passphrase: string }): Promise<{ resumed: string[] }> {
      await vault.unlock(passphrase)
      return { resumed: await goOn() }
    },
  }
}
