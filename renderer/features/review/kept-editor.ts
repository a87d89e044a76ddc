import { createDiff, themeOf } from './editor.ts'
import { type DiffEditor, loadMonaco, type Monaco } from './load-monaco.ts'

export interface KeptEditor {
  monaco: Monaco
  diff: DiffEditor
  element: HTMLElement
}

let kept: Promise<KeptEditor> | undefined

/** The one diff editor of this page. It is made once, out of sight, and moves to wherever a diff is shown. */
export function keptEditor(): Promise<KeptEditor> {
  kept ??= make()
  return kept
}

/** Makes it when the page has nothing else to do, and has it compare once: so that the first diff shows at once. */
export function warmEditor(look: string): () => void {
  const warm = async () => {
    const kept = await keptEditor()
    kept.monaco.editor.setTheme(themeOf(look))
    await compareOnce(kept)
  }
  // What fails here fails again, and is told, where a diff is asked for.
  const handle = requestIdleCallback(() => void warm().catch(() => {}), { timeout: 1500 })
  return () => cancelIdleCallback(handle)
}

export function park(element: HTMLElement): void {
  let place = document.querySelector('.review-parked')
  if (!place) {
    place = document.createElement('div')
    place.className = 'review-parked'
    place.setAttribute('inert', '')
    document.body.append(place)
  }
  place.append(element)
}

async function make(): Promise<KeptEditor> {
  const { monaco } = await loadMonaco()
  const element = document.createElement('div')
  element.className = 'review-monaco'
  park(element)
  return { monaco, element, diff: createDiff(monaco, element) }
}

/** Starts its worker and loads the colours of code. */
async function compareOnce({ monaco, diff }: KeptEditor): Promise<void> {
  if (diff.getModel()) return
  const original = monaco.editor.createModel('export const one = 1\n', 'typescript')
  const modified = monaco.editor.createModel('export const two = 2\n', 'typescript')
  const view = diff.createViewModel({ original, modified })
  diff.setModel(view)
  await view.waitForDiff()
  if (diff.getModel()?.modified === modified) diff.setModel(null)
  view.dispose()
  original.dispose()
  modified.dispose()
}
