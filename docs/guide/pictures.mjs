// `npm run pictures`: puts the pictures of the guide in place, as the last end-to-end run took them.
import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')
/** Picture of the guide → picture that a test takes. */
const pictures = { live: 'live-finished-light', review: 'review-light', revisions: 'revisions-light' }

for (const [name, taken] of Object.entries(pictures)) {
  const from = join(root, 'test-output', `${taken}.png`)
  if (!existsSync(from)) {
    console.error(`${from} is missing: run "npm run e2e -- e2e/story" first`)
    process.exitCode = 1
    continue
  }
  copyFileSync(from, join(root, 'docs/images', `${name}.png`))
  console.log(`docs/images/${name}.png`)
}
