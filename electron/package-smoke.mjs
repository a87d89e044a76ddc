// Lays the packaged app out around the smoke Electron (ELECTRON_OVERRIDE_DIST_PATH), so that a test can start what an
// installer would install: `node electron/package-smoke.mjs FOLDER`. Two fuses stay as they were: Playwright needs them.
import { join, resolve } from 'node:path'
import { build, Platform } from 'electron-builder'
import { root } from './setup.mjs'

const runtime = process.env.ELECTRON_OVERRIDE_DIST_PATH
const [output] = process.argv.slice(2)
if (!runtime || !output)
  throw new Error('usage: ELECTRON_OVERRIDE_DIST_PATH=RUNTIME node electron/package-smoke.mjs FOLDER')

await build({
  projectDir: root,
  publish: 'never',
  targets: Platform.LINUX.createTarget('dir'),
  config: {
    extends: join(root, 'electron-builder.yml'),
    electronDist: runtime,
    electronVersion: '33.2.1',
    directories: { output: resolve(output) },
    files: [{ from: 'dist-smoke', to: 'dist' }],
    asarUnpack: ['dist-smoke/**', 'dist/**'],
    electronFuses: null,
  },
})
