// How the command line writes: figures with their units, and text of a model in a form that no terminal acts on.

/** What a terminal acts on, or a reader does not see: controls, direction marks, fillers, blanks that are none. */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu

/** Text that may come from a model: line ends are marked, and characters that hide or turn text are shown as escapes. */
export function inert(text: string, longest = 300): string {
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text
  return cut.replaceAll(hidden, (char) => {
    if (char === '\n') return ' ⏎ '
    if (char === '\t') return ' '
    return `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`
  })
}

/** The same over lines, for text that is shown as it is laid out (a diff): all of it, since what is cut is not read. */
export function inertLines(text: string): string {
  return text
    .split('\n')
    .map((line) => inert(line.replaceAll('\t', '  '), Number.POSITIVE_INFINITY))
    .join('\n')
}

/** `unknown` is never zero. A figure of the simulator says so. */
export function dollars(nanoUsd: number | null, simulated = false): string {
  if (nanoUsd === null) return 'cost unknown'
  const usd = nanoUsd / 1_000_000_000
  return `$${usd.toFixed(usd !== 0 && usd < 1 ? 4 : 2)}${simulated ? ' (simulated)' : ''}`
}

export function percent(share: number | null): string {
  return share === null ? '—' : `${Math.round(share * 100)} %`
}

export function short(hash: string): string {
  return hash.slice(0, 12)
}

export function time(at: number): string {
  return new Date(at).toISOString().replace('T', ' ').slice(0, 19)
}

/** Rows under a head, columns padded to their widest cell. */
export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = [head, ...rows].map((row) => row.map(String))
  const widths = head.map((_, column) => Math.max(...cells.map((row) => [...(row[column] ?? '')].length)))
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - [...cell].length))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Beside the output: what a script that reads stdout must not meet. */
export function note(line: string): void {
  process.stderr.write(`${line}\n`)
}

export function sayJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`)
}
