import { useState } from 'react'
import { Choice, ChoiceSetting, onOff, Problem, Setting } from './setting.tsx'
import { usePreference } from './use-preference.ts'

const events = [
  ['decision', 'A proposal is ready for your verdict', 'When Exodesk is not in front. Never a verdict in the note.'],
  ['failed', 'A task failed or stalled', ''],
  ['budget', 'A budget is used up', ''],
  ['regressed', 'A revision does worse than the one before', ''],
  ['finished', 'A task finished', ''],
] as const
const times = { from: '22:00', to: '08:00' }

/** What the desktop app tells outside of its window. */
export function Notifications() {
  const notify = usePreference('notify')
  const sound = usePreference('sound')
  return (
    <>
      <p className="muted">
        For the desktop app. A browser tab shows the count of decisions in the rail, and sends no notes.
      </p>
      {events.map(([event, name, words]) => {
        const isUsual = event !== 'finished'
        const set = (to: boolean) => notify.set({ ...notify.value, [event]: to })
        return (
          <ChoiceSetting
            key={event}
            name={name}
            usual={isUsual ? 'told' : 'not told'}
            preference={onOff({
              value: notify.value[event],
              set,
              isChanged: notify.value[event] !== isUsual,
              reset: () => set(isUsual),
            })}
            options={[
              ['on', 'Tell'],
              ['off', 'Do not'],
            ]}
          >
            {words}
          </ChoiceSetting>
        )
      })}
      <ChoiceSetting
        name="Sound"
        usual="on"
        preference={onOff(sound)}
        options={[
          ['on', 'On'],
          ['off', 'Off'],
        ]}
      />
      <Quiet />
    </>
  )
}

function Quiet() {
  const quiet = usePreference('quiet')
  const [problem, setProblem] = useState<string | null>(null)
  const set = (change: Partial<typeof times>) => {
    const next = { ...(quiet.value ?? times), ...change }
    const isSame = next.from === next.to
    setProblem(isSame ? 'The two times are the same: nothing was changed.' : null)
    if (!isSame && next.from !== '' && next.to !== '') quiet.set(next)
  }
  return (
    <Setting
      name="Quiet hours"
      usual="none"
      isChanged={quiet.isChanged}
      onReset={quiet.reset}
      control={
        <>
          <Choice
            label="Quiet hours"
            value={quiet.value === null ? 'none' : 'some'}
            onChange={(to) => quiet.set(to === 'none' ? null : times)}
            options={[
              ['none', 'None'],
              ['some', 'From … to'],
            ]}
          />
          {quiet.value !== null && (
            <span className="setting-times">
              <input
                className="field"
                type="time"
                aria-label="Quiet from"
                value={quiet.value.from}
                onChange={(event) => set({ from: event.target.value })}
              />
              to
              <input
                className="field"
                type="time"
                aria-label="Quiet to"
                value={quiet.value.to}
                onChange={(event) => set({ to: event.target.value })}
              />
            </span>
          )}
          <Problem text={problem} />
        </>
      }
    >
      No notes and no sound then; the count of decisions stays.
    </Setting>
  )
}
