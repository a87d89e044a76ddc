import { type KeyboardEvent, useState } from 'react'
import { chordOf, printChord } from '../../lib/keys.ts'
import { boundTo, refusal, type Shortcut, scopes, shortcuts } from '../../lib/shortcuts.ts'
import { Problem } from './setting.tsx'
import { usePreference } from './use-preference.ts'

/** Every key, and another in its place: pressed, not typed. A conflict is refused, and says with what. */
export function Shortcuts() {
  const keys = usePreference('keys')
  const [asked, setAsked] = useState<string | null>(null)
  const [problem, setProblem] = useState<{ id: string; text: string } | null>(null)
  const without = (id: string) => Object.fromEntries(Object.entries(keys.value).filter(([each]) => each !== id))

  const give = (shortcut: Shortcut, chord: string) => {
    const why = refusal(shortcut, chord, keys.value, printChord)
    setProblem(why === null ? null : { id: shortcut.id, text: why })
    if (why !== null) return
    setAsked(null)
    keys.set(chord === shortcut.chord ? without(shortcut.id) : { ...keys.value, [shortcut.id]: chord })
  }
  const reset = (shortcut: Shortcut) => {
    const why = refusal(shortcut, shortcut.chord, without(shortcut.id), printChord)
    setProblem(why === null ? null : { id: shortcut.id, text: why })
    if (why === null) keys.set(without(shortcut.id))
  }
  const onKeyDown = (shortcut: Shortcut) => (event: KeyboardEvent) => {
    if (asked !== shortcut.id) return
    if (['Shift', 'Control', 'Meta', 'Alt', 'Tab'].includes(event.key)) return
    event.preventDefault()
    event.stopPropagation()
    event.nativeEvent.stopImmediatePropagation()
    if (event.key === 'Escape') {
      setAsked(null)
      setProblem(null)
    } else if (event.altKey || chordOf(event.nativeEvent) === '')
      setProblem({ id: shortcut.id, text: 'Keys with Alt belong to the system and to letters: choose another.' })
    else give(shortcut, chordOf(event.nativeEvent))
  }
  return (
    <>
      <div className="settings-bar">
        <p className="muted">
          Choose a key, then press the new one. What has {printChord('Mod')} leaves the screen, changes the agent or
          spends money, and keeps a modifier.
        </p>
        <button
          type="button"
          className="button"
          disabled={!keys.isChanged}
          onClick={() => {
            setProblem(null)
            keys.reset()
          }}
        >
          Reset all
        </button>
      </div>
      {scopes.map((scope) => {
        const own = shortcuts.filter((each) => each.scope === scope)
        if (own.length === 0) return null
        return (
          <section key={scope} className="panel" aria-label={`Shortcuts: ${scope}`}>
            <header>
              <h2>{scope}</h2>
            </header>
            <ul className="settings-keys">
              {own.map((shortcut) => {
                const isChanged = keys.value[shortcut.id] !== undefined
                const now = printChord(boundTo(shortcut, keys.value))
                return (
                  <li key={shortcut.id}>
                    <button
                      type="button"
                      className="button settings-key"
                      aria-label={`${shortcut.text}: ${now}. Give another key`}
                      aria-pressed={asked === shortcut.id}
                      onClick={() => {
                        setAsked(asked === shortcut.id ? null : shortcut.id)
                        setProblem(null)
                      }}
                      onKeyDown={onKeyDown(shortcut)}
                      onBlur={() => setAsked(null)}
                    >
                      {asked === shortcut.id ? 'press a key…' : now}
                    </button>
                    <span>{shortcut.text}</span>
                    {isChanged && (
                      <span className="muted">
                        <span className="tone-run">●</span> usual: {printChord(shortcut.chord)}
                        <button
                          type="button"
                          className="button quiet"
                          onClick={() => reset(shortcut)}
                          aria-label={`Reset ${shortcut.text}`}
                        >
                          Reset
                        </button>
                      </span>
                    )}
                    {problem?.id === shortcut.id && <Problem text={problem.text} />}
                  </li>
                )
              })}
            </ul>
          </section>
        )
      })}
    </>
  )
}
