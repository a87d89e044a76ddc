export type Monaco = typeof import('./monaco.ts')['monaco']
export type DiffEditor = ReturnType<Monaco['editor']['createDiffEditor']>
export type SideEditor = ReturnType<DiffEditor['getOriginalEditor']>

let loading: Promise<typeof import('./monaco.ts')> | undefined

/** The editor's chunk, fetched once. */
export function loadMonaco(): Promise<typeof import('./monaco.ts')> {
  loading ??= import('./monaco.ts')
  return loading
}
