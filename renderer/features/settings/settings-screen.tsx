import { type ComponentType, useRef, useState } from 'react'
import { Empty } from '../../components/states.tsx'
import { useKeys } from '../../lib/keys.ts'
import { matchOf } from '../../lib/match.ts'
import { usePreferences } from '../../lib/preferences.ts'
import { go, hrefOf } from '../../lib/route.ts'
import { Accessibility, Appearance } from './appearance.tsx'
import { Budgets } from './budgets.tsx'
import { Data } from './data.tsx'
import { Diagnostics } from './diagnostics.tsx'
import { Models } from './models.tsx'
import { Notifications } from './notifications.tsx'
import { Prices } from './prices.tsx'
import { Rules } from './rules.tsx'
import { Sandbox } from './sandbox.tsx'
import { type Section, sections } from './sections.ts'
import './settings.css'
import { Shortcuts } from './shortcuts.tsx'

const pages: Readonly<Record<Section, ComponentType>> = {
  keys: Models,
  prices: Prices,
  budgets: Budgets,
  sandbox: Sandbox,
  rules: Rules,
  notifications: Notifications,
  data: Data,
  appearance: Appearance,
  accessibility: Accessibility,
  shortcuts: Shortcuts,
  diagnostics: Diagnostics,
}

export function SettingsScreen({ section: given }: { section: string | null }) {
  const [query, setQuery] = useState('')
  const field = useRef<HTMLInputElement>(null)
  const { problem } = usePreferences()
  const open = sections.find(({ section }) => section === (given ?? 'keys'))
  const shown = sections.filter(({ name, words }) => matchOf(query, `${name} ${words}`) !== null)
  const step = (by: number) => {
    const at = shown.findIndex(({ section }) => section === open?.section)
    const next = shown[Math.max(0, Math.min(at + by, shown.length - 1))]
    if (next) go({ screen: 'settings', section: next.section })
  }
  useKeys({ '/': () => field.current?.focus(), j: () => step(1), k: () => step(-1) })
  const Page = open && pages[open.section]
  return (
    <div className="settings">
      <nav className="settings-list" aria-label="Sections of settings">
        <input
          ref={field}
          className="field"
          type="search"
          placeholder="Find a setting"
          aria-label="Find a setting"
          value={query}
          onChange={(event) => setQuery(event.target.value)}
          onKeyDown={(event) => {
            const [first] = shown
            if (event.key === 'Enter' && first) go({ screen: 'settings', section: first.section })
          }}
        />
        {shown.map(({ section, name }) => (
          <a
            key={section}
            href={hrefOf({ screen: 'settings', section })}
            aria-current={section === open?.section ? 'page' : undefined}
          >
            {name}
          </a>
        ))}
        {shown.length === 0 && <p className="muted">No setting is called so.</p>}
      </nav>
      <div className="settings-page">
        {problem !== null && (
          <p className="tone-wait" role="alert">
            ▲ {problem}
          </p>
        )}
        {open && Page ? (
          <>
            <h1>{open.name}</h1>
            <Page />
          </>
        ) : (
          <Empty title="There is no such section">
            <p className="muted">The list names those there are.</p>
          </Empty>
        )}
      </div>
    </div>
  )
}
