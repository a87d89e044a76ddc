import type { CostScope } from '../../../kernel/wire/operator-cost.ts'
import { useKeys } from '../../lib/keys.ts'
import { go } from '../../lib/route.ts'

interface Props {
  scope: CostScope
  tasks: readonly { task: string; agent: string; title: string }[]
  agents: readonly { agent: string }[]
}

const names = { turn: 'Turn', task: 'Task', agent: 'Agent', today: 'Today', all: 'All' } as const
type Of = CostScope['of']

/** The one selector that every figure of the screen follows. */
export function ScopeSelector({ scope, tasks, agents }: Props) {
  const latest = tasks.at(-1)
  const task = 'task' in scope ? scope.task : (latest?.task ?? null)
  const owner = tasks.find((each) => each.task === task)?.agent
  const agent = scope.of === 'agent' ? scope.agent : (owner ?? agents[0]?.agent ?? null)
  const show = (to: CostScope | null) => {
    if (to !== null) go({ screen: 'cost', scope: to })
  }
  const of = (what: Of): CostScope | null => {
    if (what === 'turn') return task === null ? null : { of: what, task, turn: scope.of === 'turn' ? scope.turn : 1 }
    if (what === 'task') return task === null ? null : { of: what, task }
    if (what === 'agent') return agent === null ? null : { of: what, agent }
    return { of: what }
  }
  const all = Object.keys(names) as Of[]
  useKeys(Object.fromEntries(all.map((what, index) => [String(index + 1), () => show(of(what))])))
  return (
    <div className="cost-scope">
      <fieldset className="cost-chips">
        <legend className="sr">Scope of every figure</legend>
        {all.map((what) => (
          <button
            key={what}
            type="button"
            className="button"
            aria-pressed={scope.of === what}
            disabled={of(what) === null}
            onClick={() => show(of(what))}
          >
            {names[what]}
          </button>
        ))}
      </fieldset>
      {'task' in scope && (
        <select
          className="field"
          aria-label="Task"
          value={scope.task}
          onChange={(event) => show({ of: 'task', task: event.target.value })}
        >
          {[...tasks].reverse().map((each) => (
            <option key={each.task} value={each.task}>
              {each.task} · {each.title.slice(0, 60)}
            </option>
          ))}
          {!tasks.some((each) => each.task === scope.task) && <option value={scope.task}>{scope.task}</option>}
        </select>
      )}
      {scope.of === 'turn' && <TurnField scope={scope} show={show} />}
      {scope.of === 'agent' && (
        <select
          className="field"
          aria-label="Agent"
          value={scope.agent}
          onChange={(event) => show({ of: 'agent', agent: event.target.value })}
        >
          {agents.map((each) => (
            <option key={each.agent}>{each.agent}</option>
          ))}
          {!agents.some((each) => each.agent === scope.agent) && <option>{scope.agent}</option>}
        </select>
      )}
    </div>
  )
}

function TurnField({ scope, show }: { scope: CostScope & { of: 'turn' }; show: (to: CostScope) => void }) {
  return (
    <label className="cost-turn">
      turn
      <input
        className="field"
        type="number"
        min={1}
        value={scope.turn}
        onChange={(event) => {
          const turn = event.target.valueAsNumber
          if (Number.isSafeInteger(turn) && turn > 0) show({ ...scope, turn })
        }}
      />
    </label>
  )
}
