import { languageOf } from './editor.ts'
import type { DiffEditor, Monaco } from './load-monaco.ts'
import type { Sides } from './queries.ts'

type TextModel = ReturnType<Monaco['editor']['createModel']>
type DiffViewModel = ReturnType<DiffEditor['createViewModel']>

interface Made {
  file: Sides
  original: TextModel
  modified: TextModel
  /** Compares from the moment that it is made. */
  view: DiffViewModel
}

/** The texts of a few files in one diff editor: the one that is shown, and those that are likely to be next, compared ahead. */
export class FileModels {
  private readonly monaco: Monaco
  private readonly diff: DiffEditor
  private made: Made[] = []

  constructor(monaco: Monaco, diff: DiffEditor) {
    this.monaco = monaco
    this.diff = diff
  }

  show(file: Sides): TextModel {
    const { view, modified } = this.of(file)
    if (this.diff.getModel()?.modified !== modified) this.diff.setModel(view)
    return modified
  }

  /** Makes these ready once nothing else is to be done, and lets go of all others but the one shown. */
  prepare(files: readonly Sides[]): () => void {
    const shown = this.diff.getModel()?.modified
    const [keep, drop] = [[] as Made[], [] as Made[]]
    for (const each of this.made)
      (each.modified === shown || files.some((file) => isSame(file, each.file)) ? keep : drop).push(each)
    this.made = keep
    for (const each of drop) letGo(each)
    const handle = requestIdleCallback(
      () => {
        for (const file of files) this.of(file)
      },
      { timeout: 1000 },
    )
    return () => cancelIdleCallback(handle)
  }

  dispose(): void {
    if (this.made.some(({ modified }) => modified === this.diff.getModel()?.modified)) this.diff.setModel(null)
    for (const each of this.made.splice(0)) letGo(each)
  }

  private of(file: Sides): Made {
    const found = this.made.find((each) => isSame(each.file, file))
    if (found) return found
    const language = languageOf(file.path)
    const { editor } = this.monaco
    const original = editor.createModel(file.before ?? '', language)
    const modified = editor.createModel(file.after ?? '', language)
    for (const model of [original, modified])
      model.updateOptions({ bracketColorizationOptions: { enabled: false, independentColorPoolPerBracketType: false } })
    const made = { file, original, modified, view: this.diff.createViewModel({ original, modified }) }
    this.made.push(made)
    return made
  }
}

function isSame(a: Sides, b: Sides): boolean {
  return a.path === b.path && a.before === b.before && a.after === b.after
}

function letGo({ view, original, modified }: Made): void {
  view.dispose()
  original.dispose()
  modified.dispose()
}
