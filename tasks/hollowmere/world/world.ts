import { frameOf } from './frame.ts'
import { Journal } from './journal.ts'
import { act, misuse } from './rules.ts'
import { type Answer, begin, type Measure, objectives, readState, type State, stateIn } from './state.ts'

/** Entries after which the journal is folded into a snapshot. */
const foldAfter = 256

/** The running world: a state in memory that is never ahead of its journal in what it has acknowledged. */
export class World {
  private readonly journal: Journal
  private state: State | null = null

  /** Goes on where the journal in `dir` ends. @throws Error where the journal is damaged. */
  constructor(dir: string) {
    this.journal = new Journal(dir)
    const kept = this.journal.read()
    if (!kept) return
    this.state = kept.entries.reduce(
      (state, entry) => act(state, entry.key, entry.args).state,
      readState(kept.snapshot),
    )
  }

  get isReady(): boolean {
    return this.state !== null
  }

  /** Begins a world, or confirms that the one in the journal is this very one. @throws Error when it is another. */
  init(seed: number, objective: string): { resumed: boolean } {
    if (this.state) {
      if (this.state.seed === seed && this.state.objective === objective) return { resumed: true }
      throw new Error(
        `this journal holds seed ${this.state.seed}, objective ${this.state.objective}; give another journal folder for a new world`,
      )
    }
    const state = begin(seed, objective)
    this.journal.restart(JSON.stringify(state))
    this.state = state
    return { resumed: false }
  }

  /** Does one action, durably, before it returns. The same key again: the same answer, and nothing is done. */
  act(key: string, args: string[]): Answer {
    const wrong = misuse(args)
    if (wrong) return { text: wrong, code: 2 }
    const before = this.now()
    const known = before.recent.find((entry) => entry.key === key)
    if (known) return known.answer
    this.journal.append({ key, args })
    const { state, answer } = act(before, key, args)
    this.state = state
    if (this.journal.length >= foldAfter) this.journal.restart(JSON.stringify(state))
    return answer
  }

  probe(): Measure {
    const state = this.now()
    const measure = objectives[state.objective]
    if (!measure) throw new Error(`no objective "${state.objective}"`)
    return measure(state)
  }

  frame(): string {
    return frameOf(this.now())
  }

  /** The measure and the state as one JSON text, the measure first: graders read it, `load` reads the state. */
  save(): string {
    return JSON.stringify({ measure: this.probe(), state: this.now() })
  }

  /** Becomes a saved world, durably; needs no `init` before. @throws Error that says what is wrong with `text`; nothing has changed then. */
  load(text: string): void {
    const state = stateIn(text)
    this.journal.restart(JSON.stringify(state))
    this.state = state
  }

  private now(): State {
    if (!this.state) throw new Error('the world has not begun: send init or load first')
    return this.state
  }
}
