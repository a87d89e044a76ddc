import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Empty, Loaded } from '../../components/states.tsx'
import { useAgents, useDesk } from '../../lib/desk.tsx'
import { hrefOf } from '../../lib/route.ts'
import { Artifacts } from './artifacts.tsx'
import { ToolTable } from './tool-table.tsx'
import './tools.css'

/** What an agent can do now, who made it and who approved it; and what it keeps. */
export function ToolsScreen({ agent, tool }: { agent: string | null; tool: string | null }) {
  const agents = useAgents()
  const [tab, setTab] = useState<'tools' | 'artifacts'>('tools')
  return (
    <div className="tools">
      <Loaded query={agents} what="the agents">
        {(list) => {
          const chosen = list.find((each) => each.agent === agent) ?? list[0]
          if (!chosen)
            return (
              <>
                <h1>Tools</h1>
                <Empty title="No agent yet">
                  <p className="muted">
                    Tools come with an agent, and an agent with its first task. Start one from{' '}
                    <a href={hrefOf({ screen: 'home' })}>Home</a>.
                  </p>
                </Empty>
              </>
            )
          return (
            <>
              <div className="tools-head">
                <h1>Tools</h1>
                <nav className="tools-chips" aria-label="Agents">
                  {list.map((each) => (
                    <a
                      key={each.agent}
                      className="chip"
                      href={hrefOf({ screen: 'tools', agent: each.agent, tool: null })}
                      aria-current={each.agent === chosen.agent ? 'page' : undefined}
                    >
                      {each.agent} r{each.activation}
                    </a>
                  ))}
                </nav>
                <fieldset className="tools-chips">
                  <legend className="sr">What to look at</legend>
                  {(['tools', 'artifacts'] as const).map((key) => (
                    <button
                      key={key}
                      type="button"
                      className="button"
                      aria-pressed={tab === key}
                      onClick={() => setTab(key)}
                    >
                      {key === 'tools' ? 'What it can do' : 'What it keeps'}
                    </button>
                  ))}
                </fieldset>
              </div>
              {tab === 'tools' ? (
                <Tools key={chosen.agent} agent={chosen.agent} tool={tool} />
              ) : (
                <Artifacts key={chosen.agent} agent={chosen.agent} />
              )}
            </>
          )
        }}
      </Loaded>
    </div>
  )
}

function Tools({ agent, tool }: { agent: string; tool: string | null }) {
  const desk = useDesk()
  const query = useQuery({ queryKey: ['tools', agent], queryFn: () => desk.tools.list({ agent }) })
  return (
    <Loaded query={query} what={`the tools of ${agent}`} rows={8}>
      {(rows) =>
        rows.length === 0 ? (
          <Empty title="Not started yet">
            <p className="muted">{agent} says which tools it has when its executor starts for the first time.</p>
          </Empty>
        ) : (
          <ToolTable agent={agent} rows={rows} open={tool} />
        )
      }
    </Loaded>
  )
}
