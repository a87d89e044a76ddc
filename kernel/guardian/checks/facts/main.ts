// The program that a check box runs: a request on standard input, facts on standard output. It reads and never runs what it is
// given. Node takes it as it is: it imports its own folder, the parser and `node:` only.
import { writeSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { factsOf } from './facts.ts'
import type { FactsRequest } from './file-facts.ts'

const request = JSON.parse(await text(process.stdin)) as FactsRequest
// Written at once, so that the last one is known where the parser takes the process down with it.
const facts = factsOf(request, (path) => writeSync(2, `reading ${JSON.stringify(path)}\n`))
process.stdout.write(JSON.stringify(facts))
