import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { Notice } from '../../../kernel/wire/operator.ts'
import { useDesk } from '../../lib/desk.tsx'
import { hrefOf } from '../../lib/route.ts'
import { InertText } from '../inert-text.tsx'

const shownAtOnce = 2
/** Then the agent. */
const regressed = 'revision.regressed.'
const marks: Readonly<Record<Notice['severity'], { icon: string; tone: string; word: string }>> = {
  error: { icon: '✗', tone: 'tone-bad', word: 'Error' },
  warning: { icon: '▲', tone: 'tone-wait', word: 'Warning' },
  info: { icon: '·', tone: 'muted', word: 'Notice' },
}

/** What is wrong now, on every screen, errors first. It goes when it is mended; what was read can be put away until it happens anew. */
export function Notices({ notices: all }: { notices: readonly Notice[] }) {
  const [isOpen, setOpen] = useState(false)
  const notices = all.filter(({ isPutAway }) => !isPutAway)
  if (notices.length === 0) return null
  const shown = isOpen ? notices : notices.slice(0, shownAtOnce)
  return (
    <section className="notices" aria-label="What is wrong now" data-testid="notices">
      <div role="status">
        <ul>
          {shown.map((notice) => (
            <Row key={notice.id} notice={notice} />
          ))}
        </ul>
      </div>
      {notices.length > shownAtOnce && (
        <button type="button" className="button quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Show less' : `${notices.length - shownAtOnce} more`}
        </button>
      )}
    </section>
  )
}

/** The text without the name that it begins with: the link before it is that name. */
export function withoutName(text: string, name: string): string {
  return text.startsWith(`${name} `) ? text.slice(name.length + 1) : text
}

function Row({ notice }: { notice: Notice }) {
  const { icon, tone, word } = marks[notice.severity]
  const desk = useDesk()
  const { id, text } = notice
  const away = useMutation({ mutationFn: () => desk.notices.putAway({ id, text }) })
  return (
    <li className="notice" data-notice={notice.id}>
      <span className={tone} aria-hidden="true">
        {icon}
      </span>
      <span className="sr">{word}: </span>
      <span className="notice-text">
        {notice.task !== null && (
          <>
            <a href={hrefOf({ screen: 'live', task: notice.task })}>{notice.task}</a>{' '}
          </>
        )}
        <InertText text={notice.task === null ? notice.text : withoutName(notice.text, notice.task)} />
        {notice.fix !== null && (
          <span className="muted">
            {' '}
            <InertText text={notice.fix} />
          </span>
        )}
        {notice.id.startsWith(regressed) && (
          <>
            {' '}
            <a href={hrefOf({ screen: 'revisions', agent: notice.id.slice(regressed.length) })}>Review rollback</a>
          </>
        )}
        {away.error !== null && (
          <span role="alert" className="tone-bad">
            {' '}
            <InertText text={away.error.message} />
          </span>
        )}
      </span>
      {/* The page's own notices end with a reload: the kernel knows nothing of them. */}
      {!id.startsWith('page.') && (
        <button
          type="button"
          className="button quiet notice-away"
          title="Put away until it happens anew"
          aria-label={`Put away: ${text}`}
          disabled={away.isPending}
          onClick={() => away.mutate()}
        >
          ✕
        </button>
      )}
    </li>
  )
}
