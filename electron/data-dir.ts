import { chmodSync, mkdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

/** The folder that `--data` names, or `exodesk` in the operating system's place for the data of programs. Absolute. */
export function dataDirOf(option: string | undefined): string {
  if (option !== undefined) return resolve(option)
  const { APPDATA, XDG_DATA_HOME } = process.env
  switch (process.platform) {
    case 'darwin':
      return join(homedir(), 'Library', 'Application Support', 'exodesk')
    case 'win32':
      return join(APPDATA ?? join(homedir(), 'AppData', 'Roaming'), 'exodesk')
    default:
      return join(XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'exodesk')
  }
}

/**
 * Makes the folder where it is missing, and closes it to all but its user.
 * @throws Error saying why it cannot be, and what to do.
 */
export function makeDataDir(dataDir: string): void {
  try {
    makeFolder(dataDir)
    chmodSync(dataDir, 0o700)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why = code === 'EEXIST' || code === 'ENOTDIR' ? 'a file is in its place' : message
    throw new Error(`${dataDir} cannot be the data directory: ${why}. Choose another with --data`)
  }
}

/** Not by mkdir's `recursive`, which never returns below /proc. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && statSync(folder).isDirectory()) return
    if (code !== 'ENOENT' || dirname(folder) === folder) throw error
    makeFolder(dirname(folder))
    mkdirSync(folder)
  }
}
