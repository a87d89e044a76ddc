import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ProposalDetail } from '../../../kernel/wire/operator.ts'
import { InertText } from '../../components/inert-text.tsx'
import { Loaded } from '../../components/states.tsx'
import { useDesk } from '../../lib/desk.tsx'
import { type DiffSettings, DiffView } from './diff-view.tsx'

interface ListProps {
  files: ProposalDetail['files']
  path: string | null
  viewed: ReadonlySet<string>
  /** Files that the diff has shown: only these can count as viewed. */
  opened: ReadonlySet<string>
  /** False once a verdict was given. */
  isOpen: boolean
  onOpen: (path: string) => void
  onViewed: (path: string, isViewed: boolean) => void
}

const changeWords = { added: 'A', changed: 'M', removed: 'D' } as const

export function FileList({ files, path, viewed, opened, isOpen, onOpen, onViewed }: ListProps) {
  return (
    <nav className="review-files" aria-label="Changed files">
      <h2>
        Viewed {files.filter((file) => viewed.has(file.path)).length}/{files.length}
      </h2>
      <ul>
        {files.map((file) => (
          <li key={file.path} className="file-row" aria-current={file.path === path || undefined}>
            <input
              type="checkbox"
              data-testid="file-viewed"
              aria-label={`viewed ${file.path}`}
              checked={viewed.has(file.path)}
              disabled={!isOpen || !opened.has(file.path)}
              title={
                isOpen
                  ? opened.has(file.path)
                    ? 'viewed'
                    : 'Open the file first: only what the diff has shown counts as viewed'
                  : 'The proposal takes no verdict any more'
              }
              onChange={(event) => onViewed(file.path, event.target.checked)}
            />
            <button
              type="button"
              className="file-open"
              onClick={() => onOpen(file.path)}
              title={`${file.change}: ${file.path}`}
            >
              <span className="muted" aria-hidden="true">
                {changeWords[file.change]}
              </span>
              <span className="sr">{file.change}</span>
              <InertText className="file-name mono" text={file.path} />
              <span className="added">+{file.addedLines}</span>
              <span className="removed">−{file.removedLines}</span>
            </button>
          </li>
        ))}
      </ul>
    </nav>
  )
}

interface DiffProps {
  detail: ProposalDetail
  path: string
  settings: DiffSettings
  onSettings: (settings: DiffSettings) => void
  /** False once a verdict was given. */
  isOpen: boolean
  isViewed: boolean
  onViewed: (path: string, isViewed: boolean) => void
}

/** Both sides of one file, exactly as stored. */
export function FileDiff({ detail, path, settings, onSettings, isOpen, isViewed, onViewed }: DiffProps) {
  const [canSplit, setCanSplit] = useState(true)
  const desk = useDesk()
  const { agent, proposal, revision, base } = detail
  const sides = useQuery({
    queryKey: ['proposal-file', agent, proposal, revision, base, path],
    queryFn: () => desk.proposals.file({ agent, proposal, path }),
  })
  return (
    <>
      <div className="review-diff-bar">
        <InertText className="mono" text={path} />
        <span className="review-toggles">
          <Toggle
            name="split"
            title={canSplit ? 'Side by side' : 'One column: there is only one side, or no room for two'}
            isOn={settings.sideBySide && canSplit}
            isDisabled={!canSplit}
            onChange={(sideBySide) => onSettings({ ...settings, sideBySide })}
          />
          <Toggle
            name="wrap"
            title="Long lines go on below"
            isOn={settings.wrap}
            onChange={(wrap) => onSettings({ ...settings, wrap })}
          />
          <Toggle
            name="whole file"
            isOn={!settings.hideUnchanged}
            onChange={(on) => onSettings({ ...settings, hideUnchanged: !on })}
          />
          <Toggle
            name={settings.ignoreWhitespace ? '▲ whitespace hidden' : 'whitespace shown'}
            isOn={!settings.ignoreWhitespace}
            onChange={(on) => onSettings({ ...settings, ignoreWhitespace: !on })}
          />
          <Toggle
            name={isViewed ? '✓ viewed' : 'mark viewed (V)'}
            isOn={isViewed}
            isDisabled={!isOpen}
            onChange={(on) => onViewed(path, on)}
          />
        </span>
      </div>
      <Loaded query={sides} what={path} rows={10}>
        {({ before, after }) => (
          <>
            {before !== null && after !== null && before === after && (
              <p className="review-note muted">Both sides are the same.</p>
            )}
            <DiffView path={path} before={before} after={after} settings={settings} onCanSplit={setCanSplit} />
          </>
        )}
      </Loaded>
    </>
  )
}

interface ToggleProps {
  name: string
  title?: string
  isOn: boolean
  isDisabled?: boolean
  onChange: (isOn: boolean) => void
}

function Toggle({ name, title, isOn, isDisabled = false, onChange }: ToggleProps) {
  return (
    <button
      type="button"
      className="feed-filter"
      title={title}
      aria-pressed={isOn}
      disabled={isDisabled}
      onClick={() => onChange(!isOn)}
    >
      {name}
    </button>
  )
}
