import type { ProposalDetail } from '../../../kernel/wire/operator.ts'

export type ChangedFile = ProposalDetail['files'][number]
type Tier = NonNullable<ProposalDetail['risk']>

const ranks: Readonly<Record<Tier, number>> = { KERNEL: 3, HIGH: 2, MED: 1, LOW: 0 }

export type TreeRow =
  | { kind: 'folder'; path: string; files: number; risk: Tier | null }
  | { kind: 'file'; path: string; name: string; folder: string; file: ChangedFile }

/** Files by folder: what is riskiest stands first, in a folder and among the folders; then by name. */
export function treeRows(files: readonly ChangedFile[]): TreeRow[] {
  const folders = new Map<string, ChangedFile[]>()
  for (const file of files) {
    const folder = folderOf(file.path)
    folders.set(folder, [...(folders.get(folder) ?? []), file])
  }
  return [...folders]
    .map(([path, inside]) => ({ path, files: inside.toSorted(byRisk), risk: highest(inside) }))
    .toSorted((a, b) => rankOf(b.risk) - rankOf(a.risk) || compare(a.path, b.path))
    .flatMap(({ path, files: inside, risk }): TreeRow[] => [
      ...(path === '' ? [] : [{ kind: 'folder' as const, path, files: inside.length, risk }]),
      ...inside.map((file) => ({
        kind: 'file' as const,
        path: file.path,
        name: file.path.slice(path === '' ? 0 : path.length + 1),
        folder: path,
        file,
      })),
    ])
}

export function isRisky(risk: Tier | null | undefined): boolean {
  return rankOf(risk ?? null) >= ranks.HIGH
}

export function rankOf(risk: Tier | null): number {
  return risk === null ? -1 : ranks[risk]
}

function highest(files: readonly ChangedFile[]): Tier | null {
  return files.reduce<Tier | null>(
    (risk, file) => (rankOf(file.risk ?? null) > rankOf(risk) ? (file.risk ?? null) : risk),
    null,
  )
}

function byRisk(a: ChangedFile, b: ChangedFile): number {
  return rankOf(b.risk ?? null) - rankOf(a.risk ?? null) || compare(a.path, b.path)
}

function folderOf(path: string): string {
  const end = path.lastIndexOf('/')
  return end < 0 ? '' : path.slice(0, end)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
