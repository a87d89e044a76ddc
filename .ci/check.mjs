// `npm run check`: format, lint, types and dead code. Says nothing when all is well; prints what each failed tool said.
import { spawnSync } from 'node:child_process'

const tools = [
  ['biome', 'check', '--error-on-warnings'],
  ['tsc', '-b'],
  ['knip', '--no-progress'],
]

for (const [command, ...args] of tools) {
  const shell = process.platform === 'win32'
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', shell })
  if (status === 0) continue
  process.stdout.write(
    `${command} ${args.join(' ')}\n${stdout ?? ''}${stderr ?? ''}${error ? `${error.message}\n` : ''}`,
  )
  process.exitCode = 1
}
