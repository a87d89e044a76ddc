import type { Player } from './player.ts'

interface Asked {
  proposal?: string
  cut?: string
  files?: { path: string; addedLines: number; removedLines: number }[]
  checks?: { check: string; verdict: string }[]
}

/** Reads a proposal as the kernel sends it, and says the same of the same: figures, and no judgement. */
export const playReviewer: Player = ({ items }) => {
  const last = items.findLast((item) => item.type === 'message' && item.role === 'user')
  const asked = parse(last?.type === 'message' ? last.text : '')
  if (asked?.files === undefined) return { text: 'I can only read a proposal that comes as one JSON document.' }
  const { proposal = 'It', files, checks = [], cut } = asked
  const [largest] = [...files].sort((a, b) => b.addedLines + b.removedLines - a.addedLines - a.removedLines)
  const sum = (of: 'addedLines' | 'removedLines') => files.reduce((total, file) => total + file[of], 0)
  const open = checks.filter(({ verdict }) => verdict !== 'pass').map(({ check, verdict }) => `${check} (${verdict})`)
  return {
    text: [
      `${proposal} changes ${files.length} ${files.length === 1 ? 'file' : 'files'}, +${sum('addedLines')} −${sum('removedLines')} lines.`,
      largest === undefined ? '' : `Most of it is in ${largest.path}: read that first.`,
      open.length === 0 ? 'Every check passed.' : `Not passed: ${open.join(', ')}.`,
      cut === undefined ? '' : `I have not seen all of it: ${cut}.`,
    ]
      .filter((line) => line !== '')
      .join(' '),
  }
}

function parse(text: string): Asked | null {
  try {
    return JSON.parse(text) as Asked
  } catch {
    return null
  }
}
