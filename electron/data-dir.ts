import { accessSync, chmodSync, constants, mkdirSync, statfsSync, statSync } from 'node:fs'
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

/** Below it nothing is begun: what history needs to record its own end must fit. */
const leastFreeBytes = 64 * 1024 * 1024

/** By the magic number that statfs gives (linux/magic.h, and the file systems' own headers). */
const networkFileSystems = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'SMB'],
  [0x01021997, '9P'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
  [0x47504653, 'GPFS'],
  [0x01161970, 'GFS2'],
  [0x7461636f, 'OCFS2'],
  [0x786f4256, 'a folder shared by VirtualBox'],
])

/**
 * Makes the folder where it is missing, and closes it to all but its user.
 * @throws Error saying why it cannot be, and what to do.
 */
export function makeDataDir(dataDir: string): void {
  const refuse = (why: string) =>
    new Error(`${dataDir} cannot be the data directory: ${why}. Choose another with --data`)
  try {
    makeFolder(dataDir)
    chmodSync(dataDir, 0o700)
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw refuse(whyNot(error as NodeJS.ErrnoException))
  }
  const problem = fileSystemProblem(statfsSync(dataDir))
  if (problem !== null) throw refuse(problem)
}

function whyNot({ code, message }: NodeJS.ErrnoException): string {
  switch (code) {
    case 'EEXIST':
    case 'ENOTDIR':
      return 'a file is in its place'
    case 'EROFS':
      return 'its file system is read-only'
    case 'EACCES':
    case 'EPERM':
      return 'it is not this user’s to write in'
    case 'ENOSPC':
      return 'its disk is full'
    case 'ENAMETOOLONG':
      return 'its path is longer than the file system allows'
    default:
      return message
  }
}

/** Why history cannot be kept on such a file system; null where it can. */
export function fileSystemProblem(found: { type: number; bavail: number; bsize: number }): string | null {
  // As a 32-bit number, whatever its sign.
  const network = networkFileSystems.get(found.type >>> 0)
  if (network !== undefined)
    return `it lies on a network file system (${network}), where locks and shared memory do not hold as history needs them; a local disk does`
  const free = found.bavail * found.bsize
  if (free < leastFreeBytes)
    return `only ${Math.floor(free / 1024 / 1024)} MB are free on its disk, and ${leastFreeBytes / 1024 / 1024} MB are the least to begin with: make room`
  return null
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
