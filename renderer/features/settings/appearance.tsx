import { Choice, Setting } from './setting.tsx'
import { usePreference } from './use-preference.ts'

export function Appearance() {
  const theme = usePreference('theme')
  const density = usePreference('density')
  return (
    <>
      <Setting
        name="Theme"
        usual="as the system"
        isChanged={theme.isChanged}
        onReset={theme.reset}
        control={
          <Choice
            label="Theme"
            value={theme.value}
            onChange={theme.set}
            options={[
              ['system', 'As the system'],
              ['light', 'Light'],
              ['dark', 'Dark'],
            ]}
          />
        }
      />
      <Setting
        name="Density"
        usual="compact"
        isChanged={density.isChanged}
        onReset={density.reset}
        control={
          <Choice
            label="Density"
            value={density.value}
            onChange={density.set}
            options={[
              ['compact', 'Compact'],
              ['comfortable', 'Comfortable'],
            ]}
          />
        }
      >
        Height of rows, fields and buttons: 28 or 36 pixels. Feeds of events stay compact.
      </Setting>
    </>
  )
}

export function Accessibility() {
  const contrast = usePreference('contrast')
  const colours = usePreference('colours')
  const motion = usePreference('motion')
  const bareKeys = usePreference('bareKeys')
  return (
    <>
      <Setting
        name="Contrast"
        usual="as the system"
        isChanged={contrast.isChanged}
        onReset={contrast.reset}
        control={
          <Choice
            label="Contrast"
            value={contrast.value}
            onChange={contrast.set}
            options={[
              ['system', 'As the system'],
              ['normal', 'Normal'],
              ['more', 'More'],
            ]}
          />
        }
      >
        Text has at least 4.5:1 in every theme; with more contrast 7:1, and links are underlined.
      </Setting>
      <Setting
        name="Colours of statuses"
        usual="standard"
        isChanged={colours.isChanged}
        onReset={colours.reset}
        control={
          <Choice
            label="Colours of statuses"
            value={colours.value}
            onChange={colours.set}
            options={[
              ['standard', 'Standard'],
              ['safe', 'For every colour vision'],
            ]}
          />
        }
      >
        A status always has a sign and a word too. Added is blue and removed is orange in both.
        <span className="settings-sample" aria-hidden="true">
          <span className="tone-run">● running</span>
          <span className="tone-wait">▲ waiting</span>
          <span className="tone-ok">✓ passed</span>
          <span className="tone-bad">✗ failed</span>
          <span className="tone-stale">⟳ stale</span>
        </span>
      </Setting>
      <Setting
        name="Motion"
        usual="as the system"
        isChanged={motion.isChanged}
        onReset={motion.reset}
        control={
          <Choice
            label="Motion"
            value={motion.value}
            onChange={motion.set}
            options={[
              ['system', 'As the system'],
              ['reduced', 'Reduced'],
            ]}
          />
        }
      >
        Reduced: nothing fades or slides; what is new is there at once.
      </Setting>
      <Setting
        name="Keys without a modifier"
        usual="on"
        isChanged={bareKeys.isChanged}
        onReset={bareKeys.reset}
        control={
          <Choice
            label="Keys without a modifier"
            value={bareKeys.value ? 'on' : 'off'}
            onChange={(to) => bareKeys.set(to === 'on')}
            options={[
              ['on', 'On'],
              ['off', 'Off'],
            ]}
          />
        }
      >
        Letters such as J and K move and mark; none of them changes the agent. Off, for who dictates: only keys with a
        modifier, and those that print nothing.
      </Setting>
    </>
  )
}
