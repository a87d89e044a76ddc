import type { Notice } from '../../kernel/wire/operator.ts'

declare const __EXODESK_CONTRACT__: string | undefined

/** Names the contract that this page was built for; null where it is served from source. */
const pageContract = typeof __EXODESK_CONTRACT__ === 'undefined' ? null : __EXODESK_CONTRACT__

/** Says so where the host speaks another contract than the page: an answer may then mean something else than it shows. */
export function contractNotice(host: string | null | undefined, page = pageContract): Notice[] {
  if (page === null || host === null || host === undefined || host === page) return []
  return [
    {
      id: 'page.other-version',
      severity: 'error',
      text: 'This page was built for another version of Exodesk than the host that it speaks to: what it shows may be wrong.',
      fix: 'Reload it (F5). Nothing is lost: tasks and history are with the host.',
      task: null,
    },
  ]
}
