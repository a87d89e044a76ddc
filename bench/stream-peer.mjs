// A model server that streams words at a set pace, each with the time at which it was written. Prints its port.
import { createServer } from 'node:http'

const [chunks = 3000, perTick = 10, tickMs = 10] = process.argv.slice(2).map(Number)

const server = createServer((request, response) => {
  request.resume()
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  let sent = 0
  const write = (delta, finish = null) =>
    response.write(
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`,
    )
  const beat = setInterval(() => {
    for (let n = 0; n < perTick && sent < chunks; n += 1, sent += 1)
      write({ content: `${performance.timeOrigin + performance.now()} ` })
    if (sent < chunks) return
    clearInterval(beat)
    write({}, 'stop')
    response.end('data: [DONE]\n\n')
  }, tickMs)
  response.on('close', () => clearInterval(beat))
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
process.stdin.resume().on('end', () => process.exit())
