import type { TreeFile } from '../sandbox/sandbox.ts'
import type { PolicyFileChange } from '../wire/executor.ts'

/** One run of changed lines; starts count from 0. */
export interface Hunk {
  /** The same for the same bytes at the same place before. */
  id: string
  beforeStart: number
  beforeLines: number
  afterStart: number
  afterLines: number
}
export interface FileHunks {
  path: string
  change: PolicyFileChange['change']
  hunks: Hunk[]
  /** False where there was no time to compare line by line: the file is one hunk. */
  isCompared: boolean
}
/** By id. */
export interface KeptHunks {
  path: string
  hunks: readonly string[]
}

/** Immutable executor source trees, named by the SHA-256 of their manifest (path, size and SHA-256 of each file, sorted by path). */
export interface Revisions {
  /** Stores a tree, each file once, and returns its hash. The same tree is the same revision. */
  put(files: readonly TreeFile[]): Promise<string>
  has(revision: string): Promise<boolean>
  /** @throws KernelError `not-found`; `internal` where stored bytes no longer have their hash. */
  read(revision: string): Promise<TreeFile[]>
  /** SHA-256 of each file by its path. @throws KernelError `not-found`. */
  hashes(revision: string): Promise<ReadonlyMap<string, string>>
  /**
   * A read-only folder below DATA/boxes with the tree, `package.json` and `wire.d.ts` written by the kernel.
   * What is there is verified against the hash at every call, and laid anew where it differs: running bytes are reviewed bytes.
   */
  materialise(revision: string): Promise<string>
  /** Files that the kernel writes beside a tree: outside its hash, ignored at intake. */
  kernelFiles(): TreeFile[]
  changes(from: string, to: string): Promise<PolicyFileChange[]>
  /** The same for trees that need not be revisions. */
  compare(from: readonly TreeFile[], to: readonly TreeFile[]): PolicyFileChange[]
  /** The changed files by path, each cut into its runs of changed lines. A file that comes or goes is one hunk. */
  cut(from: readonly TreeFile[], to: readonly TreeFile[]): FileHunks[]
  /**
   * `from` with the kept hunks of `to` alone: byte for byte `to` where all are kept, and `from` where none is.
   * @throws KernelError `invalid` for a hunk that there is not.
   */
  keep(from: readonly TreeFile[], to: readonly TreeFile[], kept: readonly KeptHunks[]): TreeFile[]
  /** Unified diff, `a/` and `b/` prefixes, at most `maxBytes` (then cut, and said so in the last line). */
  diff(from: readonly TreeFile[], to: readonly TreeFile[], maxBytes?: number): string
}
