import { useMemo, useState } from 'react'
import type { ProposalDetail } from '../../../kernel/wire/operator.ts'
import { ProposalStatus, Risk } from '../../components/status.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { bytes, shortHash } from '../../lib/format.ts'
import { useKeys } from '../../lib/keys.ts'
import { hrefOf } from '../../lib/route.ts'
import type { DiffSettings } from './diff-view.tsx'
import { Evidence } from './evidence.tsx'
import { FileDiff, FileList } from './files.tsx'
import { useView } from './use-view.ts'
import { VerdictBar } from './verdict-bar.tsx'

/** One proposal: what changes, what was measured, what is claimed, and the verdict. */
export function ProposalView({ detail }: { detail: ProposalDetail }) {
  const { files } = detail
  const [path, setPath] = useState(files[0]?.path ?? null)
  const [viewed, setViewed] = useState<ReadonlySet<string>>(() => new Set())
  const [settings, setSettings] = useState<DiffSettings>({
    hideUnchanged: true,
    ignoreWhitespace: false,
    sideBySide: true,
    wrap: true,
  })
  const [opened, setOpened] = useState<ReadonlySet<string>>(() => new Set(path === null ? [] : [path]))
  const view = useView(detail)
  const isOpen = detail.state === 'ready' || detail.state === 'checking'
  const open = (file: string | null) => {
    setPath(file)
    if (file !== null) setOpened((before) => new Set(before).add(file))
  }
  const at = files.findIndex((file) => file.path === path)
  const move = (by: number) => open(files[Math.max(0, Math.min(files.length - 1, at + by))]?.path ?? null)
  const toggleViewed = (file: string, isViewed: boolean) =>
    setViewed((before) => {
      const after = new Set(before)
      if (isViewed) after.add(file)
      else after.delete(file)
      return after
    })
  useKeys({
    n: () => move(1),
    p: () => move(-1),
    v: () => {
      if (path === null || !isOpen) return
      toggleViewed(path, true)
      move(1)
    },
    w: () => setSettings((s) => ({ ...s, ignoreWhitespace: !s.ignoreWhitespace })),
    f: () => setSettings((s) => ({ ...s, hideUnchanged: !s.hideUnchanged })),
  })
  const viewedHere = files.filter((file) => viewed.has(file.path)).length
  return (
    <div className="review">
      <Head detail={detail} />
      <div className="review-body">
        <FileList
          files={files}
          path={path}
          viewed={viewed}
          opened={opened}
          isOpen={isOpen}
          onOpen={open}
          onViewed={toggleViewed}
        />
        <section className="review-diff" data-testid="review-diff" aria-label="Diff">
          {path === null ? (
            <p className="review-note muted">
              {detail.problems.length > 0 ? 'Nothing was stored: the problems say why.' : 'No file changes.'}
            </p>
          ) : (
            <FileDiff
              detail={detail}
              path={path}
              settings={settings}
              onSettings={setSettings}
              isOpen={isOpen}
              isViewed={viewed.has(path)}
              onViewed={toggleViewed}
            />
          )}
        </section>
        <Evidence detail={detail} />
      </div>
      <VerdictBar detail={detail} view={view} filesViewed={viewedHere} />
    </div>
  )
}

/** Facts of the kernel only: the agent's words never stand here. */
function Head({ detail }: { detail: ProposalDetail }) {
  const isBaseCurrent = detail.base === detail.active.revision
  const isUndecided = detail.state === 'ready' || detail.state === 'checking' || detail.state === 'stale'
  const prefix = useMemo(() => prefixEffect(detail), [detail])
  return (
    <header className="review-head">
      <div className="review-line">
        <h1>
          {detail.proposal} <span className="muted">of {detail.agent}</span>
        </h1>
        <ProposalStatus state={detail.state} />
        <Risk tier={detail.risk} />
        <span className="muted">
          base <code title={detail.base}>{shortHash(detail.base)}</code>{' '}
          {isBaseCurrent && `is active (r${detail.active.activation})`}
          {!isBaseCurrent && isUndecided && <span className="tone-stale">⟳ is not active any more</span>}
          {' → '}
          <code title={detail.revision}>{shortHash(detail.revision)}</code>
        </span>
        {detail.task && <a href={hrefOf({ screen: 'live', task: detail.task })}>from {detail.task}</a>}
        <span className="muted">
          made <TimeAgo at={detail.madeAt} /> by the {detail.by === 'executor' ? 'agent' : 'operator'}
        </span>
      </div>
      <div className="review-line muted">
        <span>
          {detail.files.length} {detail.files.length === 1 ? 'file' : 'files'}{' '}
          <span className="added">+{detail.addedLines}</span> <span className="removed">−{detail.removedLines}</span>,
          tree {bytes(detail.sizeBytes)}
        </span>
        {detail.riskReasons.length > 0 && <span>{detail.riskReasons.join(' · ')}</span>}
        {prefix && <span>{prefix}</span>}
        {detail.addedLines + detail.removedLines > 200 && <span className="tone-wait">▲ over 200 changed lines</span>}
      </div>
    </header>
  )
}

/** What the replay says of the stable prompt prefix, where it says it. */
function prefixEffect(detail: ProposalDetail): string | null {
  const replay = detail.checks.find((check) => check.check.includes('replay'))
  const details = replay?.details
  if (typeof details !== 'object' || details === null || Array.isArray(details)) return null
  const prefix = details.prefix
  return typeof prefix === 'string' ? `prompt prefix: ${prefix}` : null
}
