import { Shell } from './components/shell/shell.tsx'
import { CostScreen } from './features/cost/cost-screen.tsx'
import { HistoryScreen } from './features/history/history-screen.tsx'
import { HomeScreen } from './features/home/home-screen.tsx'
import { LiveIndex, LiveScreen } from './features/live/live-screen.tsx'
import { ReviewScreen } from './features/review/review-screen.tsx'
import { RevisionsScreen } from './features/revisions/revisions-screen.tsx'
import { SettingsScreen } from './features/settings/settings-screen.tsx'
import { ToolsScreen } from './features/tools/tools-screen.tsx'
import { useConnectionState, useInvalidation } from './lib/desk.tsx'
import { type Route, useRoute } from './lib/route.ts'

export function App() {
  const route = useRoute()
  const connection = useConnectionState()
  useInvalidation()
  if (connection.status === 'expired') return <Expired />
  return (
    <Shell route={route}>
      <Screen route={route} />
    </Shell>
  )
}

function Screen({ route }: { route: Route }) {
  if (route.screen === 'live') return route.task ? <LiveScreen key={route.task} task={route.task} /> : <LiveIndex />
  if (route.screen === 'review') return <ReviewScreen agent={route.agent} proposal={route.proposal} />
  if (route.screen === 'revisions') return <RevisionsScreen agent={route.agent} />
  if (route.screen === 'tools') return <ToolsScreen agent={route.agent} tool={route.tool} />
  if (route.screen === 'history') return <HistoryScreen seq={route.seq} query={route.query ?? ''} />
  if (route.screen === 'cost') return <CostScreen scope={route.scope} />
  if (route.screen === 'settings') return <SettingsScreen section={route.section} />
  return <HomeScreen />
}

function Expired() {
  return (
    <main style={{ padding: 48, maxWidth: '72ch' }}>
      <h1>This link was used or has expired</h1>
      <p style={{ marginTop: 8 }}>
        Run <code>npm start</code> (or <code>exodesk serve</code>) again for a fresh one. Nothing is lost: tasks and
        history are with the host, not with this page.
      </p>
    </main>
  )
}
