import { Component, type ReactNode } from 'react'
import { hrefOf } from '../../lib/route.ts'
import { errorText } from '../states.tsx'

interface Props {
  /** A new place is tried anew. */
  place: string
  children: ReactNode
}

/** What a screen throws takes no other with it: rail, strip and keys stay, and so do the tasks. */
export class ScreenBoundary extends Component<Props, { error: unknown; place: string }> {
  override state = { error: null as unknown, place: this.props.place }

  static getDerivedStateFromError(error: unknown) {
    return { error: error ?? new Error('unknown') }
  }

  static getDerivedStateFromProps({ place }: Props, state: { error: unknown; place: string }) {
    return place === state.place ? null : { error: null, place }
  }

  override render() {
    const { error } = this.state
    if (error === null) return this.props.children
    return (
      <div className="state" role="alert" data-testid="screen-failed">
        <p className="state-title tone-bad">✗ This screen failed, and shows nothing</p>
        <p>{errorText(error)}</p>
        <p className="muted">
          It is a fault of the desk alone: tasks go on, and history is with the host. If it comes again, send the report
          of <a href={hrefOf({ screen: 'settings', section: 'diagnostics' })}>Diagnostics</a> with the line above.
        </p>
        <button type="button" className="button" onClick={() => this.setState({ error: null })}>
          Show it again
        </button>
      </div>
    )
  }
}
