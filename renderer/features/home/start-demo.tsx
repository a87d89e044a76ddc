import { type UseQueryResult, useMutation } from '@tanstack/react-query'
import type { HostStatus } from '../../../kernel/wire/operator.ts'
import { errorText } from '../../components/states.tsx'
import { useDesk } from '../../lib/desk.tsx'
import { showChord } from '../../lib/keys.ts'

type Pack = { pack: string; name: string; description: string; blocked: string | null }

interface Props {
  packs: UseQueryResult<Pack[]>
  status: HostStatus | undefined
  isFirst: boolean
  onStarted: (task: string) => void
  onNew: () => void
}

/** The bundled task with the offline model, in one click: no key, no network, no cost. */
export function StartDemo({ packs, status, isFirst, onStarted, onNew }: Props) {
  const desk = useDesk()
  const pack = packs.data?.find((each) => each.name.includes('hollowmere')) ?? packs.data?.[0]
  const model = status?.models.find((each) => each.simulated)
  const start = useMutation({
    mutationFn: (chosen: Pack) => desk.tasks.run({ pack: chosen.pack, ...(model ? { model: model.name } : {}) }),
    onSuccess: ({ task }) => onStarted(task),
  })
  const blocked = status?.sandbox.available === false ? 'No sandbox: see above.' : (pack?.blocked ?? null)
  return (
    <section className="panel home-start" aria-label="Start a task">
      <div>
        <h2>{isFirst ? 'Watch an agent improve itself' : 'Run the bundled task again'}</h2>
        {pack && <p>{pack.description}</p>}
        <p className="muted">
          It runs with {model ? model.name : 'the offline model'}: no key, no network, $0. Its figures are marked
          simulated.
        </p>
        {packs.error && <p className="tone-bad">✗ {errorText(packs.error)}</p>}
        {packs.data?.length === 0 && <p className="tone-bad">✗ No task is bundled with this build.</p>}
        {blocked && <p className="tone-wait">▲ {blocked}</p>}
        {start.error && <p className="tone-bad">✗ {errorText(start.error)}</p>}
      </div>
      <div className="home-start-buttons">
        <button type="button" className="button" onClick={onNew} data-testid="new-task">
          New task… <kbd>{showChord('Mod+n')}</kbd>
        </button>
        <button
          type="button"
          className={isFirst ? 'button primary' : 'button'}
          data-testid="start-demo"
          disabled={!pack || blocked !== null || start.isPending}
          onClick={() => pack && start.mutate(pack)}
        >
          {start.isPending ? 'Starting…' : 'Start the bundled task'}
        </button>
      </div>
    </section>
  )
}
