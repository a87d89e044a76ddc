import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'

function start(...args: string[]) {
  const child = spawn(process.execPath, [`${import.meta.dirname}/main.ts`, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  return { child, exited: once(child, 'exit') }
}

describe('the simulator as a process', () => {
  it('prints its address in one line, serves, and ends with its standard input', async () => {
    const { child, exited } = start('--port', '0')
    const [line] = await once(createInterface(child.stdout), 'line')
    const { url } = JSON.parse(line)
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/)
    expect((await fetch(`${url}/models`)).status).toBe(200)
    child.stdin.end()
    expect(await exited).toEqual([0, null])
    await expect(fetch(`${url}/models`)).rejects.toThrow()
  })

  it.each([
    [['--players', 'nobody'], /no player 'nobody'; there are: .*sim-script/],
    [['--fault', '500+sunspots', '--rate', '0.1'], /'fault\/500\+sunspots' is no condition .* faults are 401, /],
    [['--port', '70000'], /--port must be a whole number/],
  ])('refuses %j with a reason', async (args, reason) => {
    const { child, exited } = start(...args)
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (chunk) => {
      said += chunk
    })
    expect(await exited).toEqual([2, null])
    expect(said).toMatch(reason)
  })
})
