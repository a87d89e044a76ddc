import Dockerode from 'dockerode'
import { KernelError } from '../../errors.ts'

export type { Container, ContainerCreateOptions, Exec } from 'dockerode'

/** With what the package's types lack. */
export type HostConfig = Dockerode.HostConfig & { CgroupnsMode?: 'private' }

/** How long the engine may take to answer, ms. What moves a whole file system gets `long`. */
export interface EngineDeadlines {
  short: number
  long: number
}

const usualDeadlines: EngineDeadlines = { short: 30_000, long: 15 * 60_000 }

/** The one door to a Docker engine. Every call through it ends: with an answer, an error, or at its deadline. */
export interface Engine {
  readonly docker: Dockerode
  /**
   * @param what names the call in an error: `make a container`.
   * @throws KernelError `not-found` (404), `conflict` (409), `invalid` (400), `unavailable` (anything else, the deadline included).
   */
  call<T>(
    what: string,
    work: (stop: { abortSignal: AbortSignal }) => Promise<T>,
    size?: keyof EngineDeadlines,
  ): Promise<T>
}

export function openEngine(socketPath: string, deadlines: EngineDeadlines = usualDeadlines): Engine {
  const docker = new Dockerode({ socketPath })
  return {
    docker,
    async call(what, work, size = 'short') {
      const stop = new AbortController()
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          reject(lost(`the Docker engine did not ${what} within ${deadlines[size] / 1000} s`))
          stop.abort()
        }, deadlines[size])
      })
      const done = work({ abortSignal: stop.signal })
      // After the deadline nobody waits for it any more.
      done.catch(() => {})
      try {
        return await Promise.race([done, late])
      } catch (error) {
        throw error instanceof KernelError ? error : engineError(what, error as EngineFault, socketPath)
      } finally {
        clearTimeout(timer)
      }
    },
  }
}

interface EngineFault extends Error {
  statusCode?: number
  code?: string
  syscall?: string
  json?: { message?: string }
}

const lostCodes = ['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT', 'ABORT_ERR']

function engineError(what: string, error: EngineFault, socketPath: string): KernelError {
  if (error.code === 'EACCES' || error.code === 'EPERM') return forbidden(socketPath, error)
  const said = (error.json?.message ?? error.message).trim().slice(0, 500)
  const text = `the Docker engine did not ${what}: ${said}`
  if (error.statusCode === 404) return new KernelError('not-found', text, { cause: error })
  if (error.statusCode === 409) return new KernelError('conflict', text, { cause: error })
  if (error.statusCode === 400) return new KernelError('invalid', text, { cause: error })
  const isLost = error.syscall === 'connect' || lostCodes.includes(error.code ?? '') || /hang up/.test(error.message)
  return isLost ? lost(text, error) : new KernelError('unavailable', text, { cause: error })
}

/** An engine may be there, and this user may not speak to it. */
function forbidden(socketPath: string, cause: unknown): KernelError {
  const reason = `this user may not use the Docker engine (no permission for ${socketPath})`
  const fix =
    'sudo usermod -aG docker "$USER" and log in again (whoever may use the engine can become root), or EXODESK_DOCKER=off'
  return new KernelError('unavailable', `${reason}. To mend it: ${fix}`, { cause, details: { reason, fix } })
}

function lost(text: string, cause?: unknown): KernelError {
  return new KernelError('unavailable', text, { cause, details: { engineLost: true } })
}

/** True where the engine gave no answer at all: what it was asked for may or may not have happened. */
export function isEngineLost(error: unknown): boolean {
  return error instanceof KernelError && error.details?.engineLost === true
}

export function isCode(error: unknown, code: KernelError['code']): boolean {
  return error instanceof KernelError && error.code === code
}
