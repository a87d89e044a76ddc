import { createTwoFilesPatch, structuredPatch } from 'diff'
import type { ProposalDetail } from '../../kernel/wire/operator.ts'
import type { FileHunks } from '../../kernel/wire/operator-review.ts'
import type { Tree } from './fake-tree.ts'

type FileChange = Pick<ProposalDetail['files'][number], 'path' | 'change' | 'addedLines' | 'removedLines'>

export function changesOf(before: Tree, after: Tree): FileChange[] {
  return hunksOf(before, after).map(({ path, change, hunks }) => ({
    path,
    change,
    addedLines: hunks.reduce((total, hunk) => total + hunk.afterLines, 0),
    removedLines: hunks.reduce((total, hunk) => total + hunk.beforeLines, 0),
  }))
}

export function hunksOf(
  before: Tree,
  after: Tree,
  riskOf: (path: string) => 'LOW' | 'MED' | 'HIGH' = () => 'MED',
): FileHunks[] {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
  return paths
    .filter((path) => before[path] !== after[path])
    .map((path) => {
      const cut = structuredPatch(path, path, before[path] ?? '', after[path] ?? '', '', '', {
        context: 0,
        timeout: 200,
      })
      const [old, fresh] = [linesOf(before[path]), linesOf(after[path])]
      const whole = { oldStart: Math.min(1, old), oldLines: old, newStart: Math.min(1, fresh), newLines: fresh }
      return {
        path,
        change: before[path] === undefined ? 'added' : after[path] === undefined ? 'removed' : 'changed',
        isCompared: cut !== undefined,
        hunks: (cut?.hunks ?? [whole]).map((hunk, n) => ({
          id: `${path}#${n}`,
          beforeLine: hunk.oldStart,
          beforeLines: hunk.oldLines,
          afterLine: hunk.newStart,
          afterLines: hunk.newLines,
          risk: riskOf(path),
          reasons: riskOf(path) === 'HIGH' ? ['tries again after a failure'] : [],
        })),
      }
    })
}

function linesOf(text: string | undefined): number {
  return text === undefined ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}

export function compareTrees(before: Tree, after: Tree) {
  const files = changesOf(before, after)
  const diff = files
    .map(({ path }) => createTwoFilesPatch(`a/${path}`, `b/${path}`, before[path] ?? '', after[path] ?? ''))
    .join('')
  return { files, diff }
}
