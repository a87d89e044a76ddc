import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ScrollText } from '../../components/scroll-text.tsx'
import { Loaded } from '../../components/states.tsx'
import { useConnectionState, useDesk } from '../../lib/desk.tsx'
import { usePreferences } from '../../lib/preferences.ts'

/** What someone who helps will ask for. Keys are masked and the home folder is named `~` before it leaves the kernel. */
export function Diagnostics() {
  const desk = useDesk()
  const connection = useConnectionState()
  const { preferences } = usePreferences()
  const query = useQuery({
    queryKey: ['diagnostics', connection.epoch],
    queryFn: async () => (await desk.settings.diagnostics()).text,
  })
  const { theme, contrast, colours, density, motion, bareKeys, keys } = preferences
  const own = [
    `desk     ${window.exodesk ? 'in the app' : 'in a browser'}, ${navigator.userAgent}`,
    `window   ${window.innerWidth}×${window.innerHeight} at ${window.devicePixelRatio}`,
    `look     theme ${theme}, contrast ${contrast}, colours ${colours}, ${density}, motion ${motion}`,
    `keys     ${Object.keys(keys).length} changed, bare keys ${bareKeys ? 'on' : 'off'}`,
  ].join('\n')
  return (
    <Loaded query={query} what="the report">
      {(text) => (
        <>
          <p className="muted">
            Versions and states, for a report of a fault. It holds no key, no name of a key and no text of an agent, but
            names folders, tasks and endpoints where something is wrong with them: read it before you send it.
          </p>
          <ScrollText label="Diagnostics" className="settings-report">{`${text}${own}\n`}</ScrollText>
          <div className="settings-bar">
            <Copy text={`${text}${own}\n`} />
            <button type="button" className="button" onClick={() => void query.refetch()} disabled={query.isFetching}>
              {query.isFetching ? 'Reading…' : 'Read again'}
            </button>
          </div>
        </>
      )}
    </Loaded>
  )
}

function Copy({ text }: { text: string }) {
  const [said, setSaid] = useState('')
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setSaid('Copied.'),
      () => setSaid('The clipboard is not to be had here: mark the text and copy it.'),
    )
  return (
    <>
      <button type="button" className="button primary" onClick={() => void copy()}>
        Copy this report
      </button>
      <span role="status">{said}</span>
    </>
  )
}
