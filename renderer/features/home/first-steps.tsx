const steps = [
  ['● Live', 'Every model and tool call as it happens, with what it cost and what it gained.'],
  [
    '⚑ Review',
    'When the agent wants to change its own policy it proposes the edit. You read the diff beside the kernel’s checks, then approve or reject.',
  ],
  ['◆ Revisions', 'What each change cost per unit of progress, and one step back at any time.'],
] as const

/** What there will be to see, for someone who has started nothing yet. */
export function FirstSteps() {
  return (
    <ol className="home-steps">
      {steps.map(([name, text]) => (
        <li key={name} className="panel">
          <h2>{name}</h2>
          <p>{text}</p>
        </li>
      ))}
    </ol>
  )
}
