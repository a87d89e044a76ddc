import { Fragment } from 'react'
import { showChord } from '../../lib/keys.ts'
import { Dialog } from '../dialog.tsx'

const sheet: Record<string, [chord: string, what: string][]> = {
  Everywhere: [
    ['Mod+1', `Home, and ${showChord('Mod+2')} … ${showChord('Mod+6')} for the other screens`],
    ['escape', 'Back; in a field: leave it'],
    ['Mod+n', 'On Home: a new task'],
    ['Mod+Shift+.', 'Pause every running task at its next safe point'],
    ['?', 'This sheet'],
  ],
  Lists: [
    ['j', 'Next item'],
    ['k', 'Previous item'],
    ['enter', 'Open'],
  ],
  Live: [
    ['end', 'Follow the newest event'],
    ['e', 'Next error'],
    ['Mod+.', 'Pause or resume this task'],
  ],
  Review: [
    ['j', 'Next hunk, over all files; K the one before'],
    ['n', 'Next file; P the one before'],
    ['a', 'Mark the hunk accepted; X rejected'],
    ['c', 'Comment on the line'],
    ['v', 'Mark the file as viewed, go to the next'],
    ['e', 'Edit the proposed text; Escape and E end it'],
    ['w', 'Show or hide whitespace changes'],
    ['f', 'Whole file or changes only'],
    ['m', 'Show or hide what moved'],
    ['t', 'To the evidence'],
    ['Mod+enter', 'Approve, when armed and outside of any field; held down at high risk'],
    ['Mod+Shift+enter', 'Approve the hunks that are not marked rejected, as a proposal of its own'],
    ['Mod+s', 'Save your edit, as a proposal of its own'],
    ['Mod+Shift+r', 'Return to the agent with your comments: first to the reason, then with it'],
    ['Mod+Shift+x', 'Reject: first to the reason, then with it'],
    ['Mod+Shift+d', 'Defer'],
    ['Mod+t', 'Caps of a trial'],
  ],
  Revisions: [['Mod+Shift+b', 'Roll back to the selected activation: opens the preview, then confirms it']],
  Tools: [
    ['/', 'Filter'],
    ['d', 'In an open tool or artifact: what changed'],
    ['Mod+u', 'Mark the open tool as audited, as its file stands now'],
    ['Mod+Shift+k', 'Quarantine the open tool, or release it: asks for the reason'],
  ],
}

/** Bare letters only move or mark. Whatever changes the agent or spends money has a modifier. */
export function KeySheet({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      {Object.entries(sheet).map(([group, rows]) => (
        <section key={group} aria-label={group}>
          <h2>{group}</h2>
          <dl className="key-sheet">
            {rows.map(([chord, what]) => (
              <Fragment key={chord}>
                <dt>{showChord(chord)}</dt>
                <dd>{what}</dd>
              </Fragment>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  )
}
