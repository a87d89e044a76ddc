/** Links from outside, as `exodesk://proposal/scout/P-118`: each leads somewhere in the desk, and none does anything. */
const places: Readonly<Record<string, { path: RegExp; href: (parts: string[]) => string }>> = {
  proposal: { path: /^[^/]+\/P-\d{1,9}$/, href: (parts) => `#/review/${parts.join('/')}` },
  revisions: { path: /^[^/]+$/, href: (parts) => `#/revisions/${parts.join('/')}` },
  tool: { path: /^[^/]+\/[^/]+$/, href: (parts) => `#/tools/${parts.join('/')}` },
  task: { path: /^T-\d{1,9}$/, href: (parts) => `#/live/${parts.join('/')}` },
  event: { path: /^\d{1,15}$/, href: (parts) => `#/history/${parts.join('/')}` },
}

export const linkScheme = 'exodesk'

/** @returns the desk's hash; null for what is no link of ours. */
export function hrefOfLink(link: string): string | null {
  const [, place, path] = /^exodesk:\/\/([a-z]+)\/([^?#\s]{1,400}?)\/?$/i.exec(link) ?? []
  const known = places[place?.toLowerCase() ?? '']
  if (known === undefined || path === undefined || !known.path.test(path)) return null
  try {
    return known.href(path.split('/').map((part) => encodeURIComponent(decodeURIComponent(part))))
  } catch {
    return null
  }
}

/** The first of a program's arguments that is one. */
export function linkAmong(args: readonly string[]): string | null {
  for (const arg of args) {
    const href = hrefOfLink(arg)
    if (href !== null) return href
  }
  return null
}
