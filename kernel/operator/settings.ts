import { join } from 'node:path'
import type { ExaminedProvider } from '../wire/operator-settings.ts'
import { type DiagnosticsParts, diagnosticsText } from './diagnostics.ts'
import { createModelTest, type ModelTestParts } from './model-test.ts'
import { createPreferences } from './preferences.ts'
import { measureSizes } from './sizes.ts'

/** As the doctor gives it. */
interface Examined {
  report: { name: ExaminedProvider['name']; available: boolean; detail: string; reason?: string; fix?: string }
  probes: ExaminedProvider['probes']
  error: string | null
}

interface SettingsParts extends ModelTestParts, DiagnosticsParts {
  dataDir: string
  /** Puts a box of every profile to the probes. */
  examine(): Promise<Examined[]>
  /** How commands are typed. */
  hint(text: string): string
}

/** What an operator sets and asks of the host itself. */
export function createSettingsDesk(parts: SettingsParts) {
  const { dataDir, examine, hint } = parts
  const preferences = createPreferences(join(dataDir, 'desk.json'))
  let running: Promise<ExaminedProvider[]> | null = null

  async function examineSandbox(): Promise<ExaminedProvider[]> {
    const examined = await examine()
    return examined.map(({ report, probes, error }) => ({
      ...{ name: report.name, available: report.available, detail: report.detail, probes, error },
      reason: report.reason ?? null,
      fix: report.fix === undefined ? null : hint(report.fix),
    }))
  }

  return {
    preferences: preferences.get,
    setPreferences: preferences.set,
    sizes: () => measureSizes(dataDir),
    examineSandbox(): Promise<ExaminedProvider[]> {
      running ??= examineSandbox().finally(() => {
        running = null
      })
      return running
    },
    testModel: createModelTest(parts),
    diagnostics: async () => ({ text: await diagnosticsText(parts) }),
  }
}
