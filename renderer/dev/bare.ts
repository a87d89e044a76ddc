// Monaco's diff editor and nothing around it: what bench/review.ts holds the Review screen against.
import { createDiff } from '../features/review/editor.ts'
import { loadMonaco } from '../features/review/load-monaco.ts'
import { seedTree, wideTree } from './fake-tree.ts'

declare global {
  interface Window {
    /** From a fresh editor to each of ten diffs on the screen, ms. */
    measureBare: () => Promise<number[]>
  }
}

window.measureBare = async () => {
  const { monaco } = await loadMonaco()
  const host = document.querySelector<HTMLElement>('#host')
  if (!host) throw new Error('no host')
  const times: number[] = []
  let begin = performance.now()
  const diff = createDiff(monaco, host)
  for (const path of Object.keys(wideTree).filter((each) => each.startsWith('skills/'))) {
    const original = monaco.editor.createModel(seedTree[path] ?? '', 'typescript')
    const modified = monaco.editor.createModel(wideTree[path] ?? '', 'typescript')
    const before = diff.getModel()
    const isShown = new Promise<void>((resolve) => {
      const watch = new MutationObserver(() => {
        if (diff.getModel()?.modified !== modified || !host.querySelector('.line-insert')) return
        watch.disconnect()
        resolve()
      })
      watch.observe(host, { subtree: true, childList: true })
    })
    diff.setModel({ original, modified })
    before?.original.dispose()
    before?.modified.dispose()
    await isShown
    times.push(performance.now() - begin)
    begin = performance.now()
  }
  return times
}
