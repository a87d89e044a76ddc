import type { Event } from '../wire/events.ts'
import type { ExportFormat, RedactionFinding, RedactionRule } from '../wire/operator-exports.ts'

export interface ExportScope {
  format: ExportFormat
  task?: string | undefined
  agent?: string | undefined
  keep?: readonly Exclude<RedactionRule, 'keys'>[] | undefined
}

/** An event with what it refers to read in; every text of it is redacted. */
export interface Entry {
  event: Event
  /** Items of the model's answer, in order, as it gave them. */
  output: readonly unknown[]
  /** Arguments of a call, or the output of one; '' for other kinds. */
  text: string
  /** Bytes that `text` lacks of the whole. */
  cutBytes: number
}

/** What a format makes of them, as text, in the order of the file. */
export type Writer = (entries: AsyncIterable<Entry>, context: WriteContext) => AsyncIterable<string>

export interface WriteContext {
  /** Of the program. */
  version: string
  /** Epoch ms. */
  at: number
  scope: ExportScope
  /** Items of the request of a `model.called`, in order, parsed and redacted. */
  request(event: Event<'model.called'>): Promise<{ kind: string; value: unknown }[]>
}

/** @see exportsContract */
export interface Exports {
  preview(scope: ExportScope): Promise<{
    events: number
    findings: RedactionFinding[]
    file: string
    blocked: string | null
  }>
  /** @throws KernelError `conflict` (the file exists, a known key in a bundle), `invalid`, `unavailable`. */
  write(request: ExportScope & { file?: string | undefined; consent?: boolean | undefined }): Promise<{
    file: string
    sizeBytes: number
    hash: string
    events: number
    redacted: { rule: RedactionRule; count: number }[]
    seq: number | null
  }>
  import(file: string, folder: string): Promise<{ folder: string; events: number; head: string; exportedAt: number }>
}
