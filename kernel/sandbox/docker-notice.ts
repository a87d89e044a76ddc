import type { Notices } from '../notices.ts'
import type { ProviderReport } from './sandbox.ts'

const id = 'sandbox.docker-unusable'

/** Where an engine is there and yet gives no boxes, weaker ones are used: that is said, with what mends it. */
export function noteDocker(reports: readonly ProviderReport[], notices: Notices): void {
  const docker = reports.find(({ name }) => name === 'docker')
  if (docker === undefined || docker.available || docker.engineAnswers !== true) {
    notices.clear(id)
    return
  }
  const other = reports.find(({ name, available }) => name !== 'docker' && available)
  const instead = other === undefined ? 'No box can be had.' : `Boxes are ${other.name} ones instead.`
  const text = `Docker is here but cannot be used: ${docker.reason ?? docker.detail}. ${instead}`
  notices.raise({ id, severity: 'warning', text, fix: docker.fix ?? null, task: null })
}
