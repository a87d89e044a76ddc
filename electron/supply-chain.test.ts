// What is installed is what was reviewed: exact versions, hashes for all of them, and install scripts only where named.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')
const text = (path: string) => readFileSync(join(root, path), 'utf8')

interface Locked {
  version: string
  integrity?: string
  resolved?: string
  hasInstallScript?: boolean
}
const manifest = JSON.parse(text('package.json')) as Record<
  'dependencies' | 'devDependencies',
  Record<string, string>
> & { allowScripts: Record<string, boolean> }
const locked = Object.entries((JSON.parse(text('package-lock.json')) as { packages: Record<string, Locked> }).packages)
  .filter(([path]) => path !== '')
  .map(([path, entry]) => ({ name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length), ...entry }))

describe('[C31] the packages', () => {
  it('are named by exact versions, which are those of the lock file', () => {
    const named = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
    expect(named.length).toBeGreaterThan(20)
    for (const [name, version] of named) {
      expect(version, name).toMatch(/^\d+\.\d+\.\d+$/)
      expect(
        locked.some((entry) => entry.name === name && entry.version === version),
        `${name}@${version} in package-lock.json`,
      ).toBe(true)
    }
  })

  it('have a hash each, and come from no repository or address of their own', () => {
    expect(locked.length).toBeGreaterThan(100)
    for (const { name, integrity, resolved } of locked) {
      expect(integrity, name).toMatch(/^sha512-/)
      expect(resolved ?? '', name).not.toMatch(/^(git|http:|file:)/)
    }
  })

  it('run install scripts only where that was decided: of Node alone', () => {
    const withScripts = [...new Set(locked.filter(({ hasInstallScript }) => hasInstallScript).map(({ name }) => name))]
    expect(withScripts.filter((name) => manifest.allowScripts[name] === undefined)).toEqual([])
    expect(Object.entries(manifest.allowScripts).filter(([, allowed]) => allowed)).toEqual([['node', true]])
  })
})

describe('[C28] the packaged app', () => {
  const config = text('electron-builder.yml')
  it.each([
    ['runAsNode', false],
    ['enableNodeOptionsEnvironmentVariable', false],
    ['enableNodeCliInspectArguments', false],
    ['grantFileProtocolExtraPrivileges', false],
    ['enableEmbeddedAsarIntegrityValidation', true],
    ['onlyLoadAppFromAsar', true],
  ])('has its fuse %s set to %s', (fuse, value) => {
    expect(config).toMatch(new RegExp(`^ {2}${fuse}: ${value}( #|$)`, 'm'))
  })

  it('ships the Node that boxes run on, since the app itself is none', () => {
    expect(config).toContain('{ from: node_modules/node/bin, to: node }')
    expect(existsSync(join(root, 'node_modules/node/bin'))).toBe(true)
  })
})
