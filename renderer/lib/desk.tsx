import { QueryClient, queryOptions, useQuery } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useSyncExternalStore } from 'react'
import type { Connection, ConnectionState, Desk } from './connection.ts'
import { follow } from './follow.ts'
import { Invalidator } from './invalidator.ts'

const DeskContext = createContext<Connection | null>(null)

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { staleTime: Number.POSITIVE_INFINITY, retry: false, networkMode: 'always', refetchOnWindowFocus: false },
    mutations: { networkMode: 'always' },
  },
})

export function DeskProvider({ connection, children }: { connection: Connection; children: ReactNode }) {
  return <DeskContext.Provider value={connection}>{children}</DeskContext.Provider>
}

function useConnection(): Connection {
  const connection = useContext(DeskContext)
  if (!connection) throw new Error('no DeskProvider above')
  return connection
}

export function useDesk(): Desk {
  return useConnection().desk
}

export function useConnectionState(): ConnectionState {
  const connection = useConnection()
  return useSyncExternalStore(connection.subscribe, connection.snapshot)
}

/** Follows all of history and marks what each event makes old. Mounted once, by the shell. */
export function useInvalidation(): void {
  const desk = useDesk()
  const { epoch } = useConnectionState()
  useEffect(() => {
    if (epoch === 0) return
    const stop = new AbortController()
    const invalidator = new Invalidator(queryClient)
    void queryClient.invalidateQueries()
    desk.host
      .status()
      .then(({ lastSeq }) =>
        follow(desk, {
          after: lastSeq,
          signal: stop.signal,
          onBatch: (events) => invalidator.note(events),
        }),
      )
      .catch(() => {
        // The connection broke again: the next epoch starts over.
      })
    return () => {
      stop.abort()
      invalidator.stop()
    }
  }, [desk, epoch])
}

// One query per thing the contract gives. The first part of a key names what makes it old (see invalidator.ts).

export function useStatus() {
  const desk = useDesk()
  return useQuery({ queryKey: ['status'], queryFn: () => desk.host.status() })
}

/** The day's budget; what counts against it is what today's priced calls cost. */
export function useDayBudget() {
  const desk = useDesk()
  return useQuery({
    queryKey: ['status', 'budgets'],
    queryFn: async () => (await desk.budgets.get()).find((each) => each.scope === 'day') ?? null,
  })
}

export function useTasks() {
  const desk = useDesk()
  return useQuery({ queryKey: ['tasks', 'all'], queryFn: () => desk.tasks.list() })
}

export function useTask(task: string) {
  const desk = useDesk()
  return useQuery({ queryKey: ['tasks', task], queryFn: () => desk.tasks.get({ task }) })
}

export function useSeries(task: string) {
  const desk = useDesk()
  return useQuery({ queryKey: ['series', task], queryFn: () => desk.tasks.series({ task }) })
}

export function useFrame(task: string) {
  const desk = useDesk()
  return useQuery({ queryKey: ['frame', task], queryFn: () => desk.tasks.frame({ task }) })
}

export function useAgents() {
  const desk = useDesk()
  return useQuery({ queryKey: ['agents'], queryFn: () => desk.agents.list() })
}

/** What each activation brought; part of what its revisions are. */
export function useEffects(agent: string) {
  const desk = useDesk()
  return useQuery({
    queryKey: ['revisions', agent, 'effects'],
    queryFn: () => desk.revisions.effects({ agent }),
    // Steps are made all the time, and none of them is worth a computation of all figures.
    refetchInterval: 15_000,
  })
}

export function usePacks() {
  const desk = useDesk()
  return useQuery({ queryKey: ['packs'], queryFn: () => desk.packs.list() })
}

export function useProposals(agent?: string) {
  const desk = useDesk()
  return useQuery({
    queryKey: ['proposals', agent ?? 'all'],
    queryFn: () => desk.proposals.list(agent === undefined ? {} : { agent }),
  })
}

export function proposalQuery(desk: Desk, agent: string, proposal: string) {
  return queryOptions({
    queryKey: ['proposals', agent, proposal],
    queryFn: () => desk.proposals.get({ agent, proposal }),
  })
}

export function useProposal(agent: string, proposal: string) {
  return useQuery(proposalQuery(useDesk(), agent, proposal))
}

export function useRevisions(agent: string) {
  const desk = useDesk()
  return useQuery({ queryKey: ['revisions', agent], queryFn: () => desk.revisions.list({ agent }) })
}
