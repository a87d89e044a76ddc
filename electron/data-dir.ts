import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

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
