// The first thing that a start looks at. Written for Nodes so old that the rest of the program would be a syntax error to them.
import { readFileSync } from 'node:fs'

/** Why this Node cannot start Exodesk, and what to do; null: it can. `wanted` as `engines.node` says it. */
export function nodeProblem(version, wanted) {
  var least = /(\d+)\.(\d+)/.exec(wanted)
  var own = /^v?(\d+)\.(\d+)/.exec(version)
  var isEnough =
    Number(own[1]) > Number(least[1]) || (Number(own[1]) === Number(least[1]) && Number(own[2]) >= Number(least[2]))
  if (isEnough) return null
  return (
    'Exodesk needs Node ' +
    least[0] +
    ' or later to start; this is ' +
    version +
    '. Install one from https://nodejs.org, ' +
    'or with your version manager (nvm install --lts), and run the same command again. Nothing was changed.'
  )
}

export function requireNode() {
  var wanted = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).engines.node
  var problem = nodeProblem(process.version, wanted)
  if (problem === null) return
  console.error(problem)
  process.exit(3)
}
