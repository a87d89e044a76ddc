import { existsSync } from 'node:fs'
import type { KernelConfig } from '../kernel/kernel.ts'

const usualSocket = '/var/run/docker.sock'

/**
 * The Docker engine of this machine, as Docker's own tools find it: DOCKER_HOST where it names a socket, else the usual one. An
 * engine on another machine is not for boxes: they mount folders of this one. EXODESK_DOCKER=off turns it off; EXODESK_DOCKER_IMAGE and
 * EXODESK_DOCKER_RUNTIME (runc, runsc) name the base image and the runtime.
 */
export function dockerEngine(env: Record<string, string | undefined>): Pick<KernelConfig, 'docker'> {
  if (env.EXODESK_DOCKER === 'off') return {}
  const given = env.DOCKER_HOST
  const socketPath = given?.startsWith('unix://') ? given.slice('unix://'.length) : given ? undefined : usualSocket
  if (socketPath === undefined || (given === undefined && !existsSync(socketPath))) return {}
  const { EXODESK_DOCKER_IMAGE: image, EXODESK_DOCKER_RUNTIME: runtime } = env
  if (runtime !== undefined && runtime !== 'runc' && runtime !== 'runsc')
    throw new Error(`EXODESK_DOCKER_RUNTIME must be runc or runsc, not ${runtime}`)
  return { docker: { socketPath, ...(image ? { image } : {}), ...(runtime ? { runtime } : {}) } }
}
