import type { Methods } from '../channel.ts'
import type { Running } from '../running.ts'

export function taskMethods(running: Running): Pick<Methods, 'task.complete' | 'task.ask'> {
  const { task } = running.spec
  return {
    'task.complete': ({ summary }) => task.complete(summary),
    async 'task.ask'({ question }) {
      await task.ask(question)
      return { asked: true }
    },
  }
}
