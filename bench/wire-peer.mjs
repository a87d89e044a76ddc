// The other end of the pipe. Arguments: `raw` or `rpc`, bytes a message, how many in flight, how many in all. `raw` sends bytes that
// come back as they are; `rpc` makes requests of the kernel's wire and waits for their answers. Says the rate at the end, on stderr.
const [mode, ...numbers] = process.argv.slice(2)
const [bytes, inFlight, count] = numbers.map(Number)
const output = process.stdout
let sent = 0
let done = 0
let from = 0

const send = mode === 'raw' ? sendRaw : sendRequest
const filler = 'x'.repeat(Math.max(0, bytes - 90))
const message = Buffer.alloc(bytes, 'x')
message[bytes - 1] = 10

function sendRaw() {
  output.write(message)
}

function sendRequest(id) {
  const params = { kind: 'note.added', data: { text: filler } }
  output.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'history.append', params })}\n`)
}

function fill() {
  while (sent < count && sent - done < inFlight) {
    sent += 1
    send(sent)
  }
}

function finish() {
  process.stderr.write(`${JSON.stringify({ perSecond: (count * 1000) / (performance.now() - from) })}\n`)
  process.exit(0)
}

let held = 0
let rest = ''
process.stdin.on('data', (chunk) => {
  if (mode === 'raw') {
    held += chunk.length
    done += Math.floor(held / bytes)
    held %= bytes
  } else {
    const lines = (rest + chunk.toString('utf8')).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      JSON.parse(line)
      done += 1
    }
  }
  if (done >= count) finish()
  fill()
})
from = performance.now()
fill()
