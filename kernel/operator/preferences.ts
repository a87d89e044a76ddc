import { KernelError } from '../errors.ts'
import { readText, renameFile, replaceFile } from '../store/files.ts'
import { type Preferences, type PreferencesChange, preferencesSchema } from '../wire/operator-settings.ts'

/**
 * How this desk looks and is worked, in one file of the data directory. A file that cannot be understood is kept beside,
 * as `FILE.unreadable`, and the usual preferences hold until the next change.
 */
export function createPreferences(file: string) {
  let problem: string | null = null
  let current = read()

  function read(): Preferences {
    let text: string | null
    try {
      text = readText(file)
    } catch (error) {
      problem = `${file} cannot be read, so the usual preferences hold: ${(error as Error).message}`
      return preferencesSchema.parse({})
    }
    if (text === null) return preferencesSchema.parse({})
    const found = preferencesSchema.safeParse(parse(text))
    if (found.success) return found.data
    problem = `${file} could not be understood: it is kept as ${file}.unreadable, and the usual preferences hold.`
    try {
      renameFile(file, `${file}.unreadable`)
    } catch (error) {
      problem = `${file} could not be understood, and not be moved away either: ${(error as Error).message}`
    }
    return preferencesSchema.parse({})
  }

  return {
    get: () => ({ preferences: current, problem }),
    /** On disk, whole, when it returns. @throws KernelError `unavailable`: nothing was changed. */
    set(change: PreferencesChange): Preferences {
      const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
      const next = preferencesSchema.parse({ ...current, ...given })
      try {
        replaceFile(file, `${JSON.stringify(next, null, 1)}\n`)
      } catch (error) {
        throw new KernelError(
          'unavailable',
          `${file} cannot be written, and stays as it was: ${(error as Error).message}`,
        )
      }
      current = next
      return next
    },
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
