import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import './tokens.css'
import './base.css'
import { App } from './app.tsx'
import { Connection } from './lib/connection.ts'
import { DeskProvider, queryClient } from './lib/desk.tsx'
import { startPreferences } from './lib/preferences.ts'
import { startPresence } from './lib/presence.ts'
import { startTheme } from './lib/theme.ts'

startPreferences()
startPresence()
startTheme()
const root = document.getElementById('root')
if (!root) throw new Error('index.html has no #root')
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <DeskProvider connection={new Connection()}>
        <App />
      </DeskProvider>
    </QueryClientProvider>
  </StrictMode>,
)
