import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { localNode, root } from './setup.mjs'

/** Builds dist/ when the sources changed since the last build. Leaves stdout alone. */
export function buildIfStale() {
  const build = join(root, 'electron', 'build.mjs')
  const { status } = spawnSync(localNode, [build, '--if-stale'], { cwd: root, stdio: ['ignore', 2, 2] })
  if (status !== 0) {
    console.error('The build failed (above).')
    process.exit(3)
  }
}

/** Runs a program in place of this one: its streams and exit code are ours, and a stop signal is passed on. */
export function become(command, args) {
  const env = { ...process.env, EXODESK_COMMAND: 'npm run -s exodesk --' }
  const child = spawn(command, args, { cwd: root, stdio: 'inherit', env })
  // A terminal's Ctrl-C reaches the child by itself; it decides what that means.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  child.on('error', (error) => {
    console.error(error.message)
    process.exit(3)
  })
  child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)))
}
