import type { CapabilityKind, Knob } from '../../../wire/operator-checks.ts'

/** What the syntax tree of one file says. Lines are 1-based. */
export interface FileFacts {
  /** It could not be read; all else is then empty. */
  error: Located | null
  /** SHA-256 of the program without comments and layout; null: not a program. */
  shape: string | null
  capabilities: (Located & { kind: CapabilityKind })[]
  /** Files of the tree that it loads, as it names them. */
  imports: string[]
  /** What keeps a reader, or this one, from seeing what it does. */
  hiding: Located[]
  knobs: KnobFact[]
  calls: CallFact[]
  /** Functions of its own by name, methods with a dot before it; those that the engine or a base class may call are left out. */
  functions: Located[]
  /** Names that it asks for anywhere but inside the function of that name: members with a dot, what it imports with `^`. */
  uses: string[]
}

/** The name by which `CallFact` has a call of the model. */
export const modelCall = 'model.call'

/** A call of a function by its name, or of the model. */
export interface CallFact {
  /** The function that it stands in. */
  in: string
  of: string
  /** Around it, within that function. */
  loops: number
  line: number
}

export interface Located {
  what: string
  line: number
}

export interface KnobFact {
  name: string
  unit: Knob['unit']
  value: number | string
  line: number
  /** It has a name of its own, or something is held against it. */
  isBound: boolean
}

/** One request to the reader: files, and the methods of the wire that it should know. */
export interface FactsRequest {
  methods: string[]
  files: { path: string; text: string }[]
}
