import { hash } from 'node:crypto'
import type { Random } from './players/player.ts'

/** 48 bits of SHA-256 over key and label: even enough for any draw a player makes. */
export function createRandom(key: string): Random {
  const float = (label: string) => Number.parseInt(hash('sha256', `${key}\n${label}`).slice(0, 12), 16) / 2 ** 48
  return { float, int: (label, n) => Math.floor(float(label) * n) }
}
