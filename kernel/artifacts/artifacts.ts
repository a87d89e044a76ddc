import type { EventHeader } from '../wire/events.ts'
import type { ArtifactRef, ArtifactValue } from '../wire/executor.ts'

/** Where an artifact's event belongs. */
export type ArtifactContext = Pick<EventHeader, 'actor'> &
  Partial<Pick<EventHeader, 'task' | 'run' | 'generation' | 'turn' | 'step' | 'revision'>>

/** Named values whose every version stays. Written by `artifact.written` events; the name is opaque and never a host path. */
export interface Artifacts {
  /** @throws KernelError `invalid` (name), `conflict` (expectVersion is not the latest). */
  put(agent: string, name: string, text: string, context: ArtifactContext, expectVersion?: number): Promise<ArtifactRef>
  /** @throws KernelError `not-found`. */
  get(agent: string, name: string, version?: number): Promise<ArtifactValue>
  list(agent: string, prefix?: string): Promise<ArtifactRef[]>
  versions(agent: string, name: string): Promise<ArtifactRef[]>
}
