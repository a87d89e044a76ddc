import type { ModelBrief } from '#wire'
import { chat } from './chat.ts'
import type { Api } from './model.ts'
import { responses } from './responses.ts'

export const apis: { [name in ModelBrief['api']]: Api } = { responses, chat }
