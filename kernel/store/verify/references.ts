import type { EventData, EventKind } from '../../wire/events.ts'
import type { Connection } from '../sqlite.ts'
import type { Finding } from './finding.ts'

export const referringKinds: ReadonlySet<string> = new Set<EventKind>([
  'artifact.written',
  'model.called',
  'tool.called',
  'tool.finished',
  'job.ended',
  'sandbox.snapshotted',
])

/** Checks that the blobs which an event names are there. */
export function createReferenceCheck(db: Connection) {
  const blob = db.prepare('SELECT 1 FROM blobs WHERE hash = ?').pluck()
  return (seq: number, kind: string, data: unknown): Finding | null => {
    const missing = referencesOf(kind, data).find((hash) => blob.get(hash) === undefined)
    return missing === undefined
      ? null
      : { seq, problem: `event ${seq} (${kind}): blob ${missing} is missing`, of: 'blob' }
  }
}

function referencesOf(kind: string, data: unknown): string[] {
  switch (kind as EventKind) {
    case 'artifact.written':
      return [(data as EventData<'artifact.written'>).hash]
    case 'model.called':
      return (data as EventData<'model.called'>).output.map(({ hash }) => hash)
    case 'tool.called':
      return present((data as EventData<'tool.called'>).argumentsBlob)
    case 'tool.finished':
      return present((data as EventData<'tool.finished'>).outputBlob)
    case 'job.ended': {
      const { stdoutBlob, stderrBlob } = data as EventData<'job.ended'>
      return present(stdoutBlob, stderrBlob)
    }
    case 'sandbox.snapshotted':
      return present((data as EventData<'sandbox.snapshotted'>).world)
    default:
      return []
  }
}

function present(...hashes: (string | null | undefined)[]): string[] {
  return hashes.filter((hash) => typeof hash === 'string')
}
