import { type Block, documentOf } from './document.ts'
import type { Writer } from './exports.ts'

/** What hides or turns text is shown as an escape: controls, direction marks, fillers, blanks that are none. */
const hidden = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu
const visible = (text: string) => text.replaceAll(hidden, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)

/** Texts of agents and tools stand in fences that nothing in them can close. */
export const markdown: Writer = async function* (entries, context) {
  for await (const block of documentOf(entries, context)) yield `${inMarkdown(block)}\n\n`
}

function inMarkdown(block: Block): string {
  switch (block.type) {
    case 'title':
      return `# ${oneLine(block.text)}`
    case 'heading':
      return `${'#'.repeat(block.level)} ${oneLine(block.text)}`
    case 'facts':
      return block.rows.map(([name, value]) => `- ${name}: ${oneLine(value)}`).join('\n')
    case 'line':
      return oneLine(block.text)
    case 'said': {
      const text = visible(block.text)
      const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
      const fence = '`'.repeat(longest + 1)
      return `**${oneLine(block.by)}**\n\n${fence}text\n${text}\n${fence}`
    }
  }
}

/** Nothing in it is markup: every sign that Markdown or HTML gives a meaning is escaped. */
function oneLine(text: string): string {
  return visible(text)
    .replaceAll(/[\n\t]+/g, ' ')
    .replaceAll(/[\\`*_[\]<>#|~!&]/g, (char) =>
      char === '#' ? char : char === '<' ? '&lt;' : char === '&' ? '&amp;' : `\\${char}`,
    )
}

/** One file that loads nothing and runs nothing. */
export const html: Writer = async function* (entries, context) {
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>Exodesk export</title>
<style>
:root { color-scheme: light dark; font: 14px/1.5 system-ui, sans-serif }
body { max-width: 960px; margin: 32px auto; padding: 0 16px }
h1 { font-size: 20px } h2 { font-size: 16px; margin-top: 32px } h3 { font-size: 14px; margin-top: 24px }
pre { padding: 8px 12px; border-left: 3px solid color-mix(in srgb, currentColor 30%, transparent); overflow: auto;
  white-space: pre-wrap; overflow-wrap: anywhere; font: 12px/1.5 ui-monospace, monospace; margin: 4px 0 16px }
.by { font-weight: 600; margin: 12px 0 0 } .line { margin: 4px 0; overflow-wrap: anywhere }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 16px } dd { margin: 0 }
</style>
</head>
<body>
`
  for await (const block of documentOf(entries, context)) yield `${inHtml(block)}\n`
  yield '</body>\n</html>\n'
}

function inHtml(block: Block): string {
  switch (block.type) {
    case 'title':
      return `<h1>${escaped(block.text)}</h1>`
    case 'heading':
      return `<h${block.level}>${escaped(block.text)}</h${block.level}>`
    case 'facts':
      return `<dl>${block.rows.map(([name, value]) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`).join('')}</dl>`
    case 'line':
      return `<p class="line">${escaped(block.text)}</p>`
    case 'said':
      return `<p class="by">${escaped(block.by)}</p>\n<pre>${escaped(block.text)}</pre>`
  }
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escaped = (text: string) => visible(text).replaceAll(/[&<>"']/g, (char) => entities[char] ?? char)
