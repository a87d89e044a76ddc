import { playApprentice } from './apprentice.ts'
import { playNovice } from './novice.ts'
import type { RegisteredPlayer } from './player.ts'
import { playReviewer } from './reviewer.ts'
import { playSaboteur } from './saboteur.ts'
import { playScript } from './script.ts'

const size = { contextWindow: 400_000, maxOutputTokens: 128_000 }

/** Model name → player. Names start with `sim-`: the host starts the simulator for them. */
export const players: Record<string, RegisteredPlayer> = {
  'sim-apprentice': { play: playApprentice, ...size },
  'sim-novice': { play: playNovice, ...size },
  'sim-reviewer': { play: playReviewer, ...size },
  'sim-saboteur': { play: playSaboteur, ...size },
  'sim-script': { play: playScript, ...size },
}
