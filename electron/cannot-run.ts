/** Says on stderr why a host cannot run here, and ends the process with the code for that. */
export function cannotRun(error: unknown): never {
  process.stderr.write(`Exodesk cannot run: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(3)
}
