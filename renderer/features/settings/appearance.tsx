import { ChoiceSetting, onOff } from './setting.tsx'
import { usePreference } from './use-preference.ts'

export function Appearance() {
  const theme = usePreference('theme')
  const density = usePreference('density')
  return (
    <>
      <ChoiceSetting
        name="Theme"
        usual="as the system"
        preference={theme}
        options={[
          ['system', 'As the system'],
          ['light', 'Light'],
          ['dark', 'Dark'],
        ]}
      />
      <ChoiceSetting
        name="Density"
        usual="compact"
        preference={density}
        options={[
          ['compact', 'Compact'],
          ['comfortable', 'Comfortable'],
        ]}
      >
        Height of rows, fields and buttons: 28 or 36 pixels. Feeds of events stay compact.
      </ChoiceSetting>
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
      <ChoiceSetting
        name="Contrast"
        usual="as the system"
        preference={contrast}
        options={[
          ['system', 'As the system'],
          ['normal', 'Normal'],
          ['more', 'More'],
        ]}
      >
        Text has at least 4.5:1 in every theme; with more contrast 7:1, and links are underlined.
      </ChoiceSetting>
      <ChoiceSetting
        name="Colours of statuses"
        usual="standard"
        preference={colours}
        options={[
          ['standard', 'Standard'],
          ['safe', 'For every colour vision'],
        ]}
      >
        A status always has a sign and a word too. Added is blue and removed is orange in both.
        <span className="settings-sample" aria-hidden="true">
          <span className="tone-run">● running</span>
          <span className="tone-wait">▲ waiting</span>
          <span className="tone-ok">✓ passed</span>
          <span className="tone-bad">✗ failed</span>
          <span className="tone-stale">⟳ stale</span>
        </span>
      </ChoiceSetting>
      <ChoiceSetting
        name="Motion"
        usual="as the system"
        preference={motion}
        options={[
          ['system', 'As the system'],
          ['reduced', 'Reduced'],
        ]}
      >
        Reduced: nothing fades or slides; what is new is there at once.
      </ChoiceSetting>
      <ChoiceSetting
        name="Keys without a modifier"
        usual="on"
        preference={onOff(bareKeys)}
        options={[
          ['on', 'On'],
          ['off', 'Off'],
        ]}
      >
        Letters such as J and K move and mark; none of them changes the agent. Off, for who dictates: only keys with a
        modifier, and those that print nothing.
      </ChoiceSetting>
    </>
  )
}
