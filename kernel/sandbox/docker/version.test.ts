import { describe, expect, it } from 'vitest'
import { mirrorOf } from './base-image.ts'
import { engineVersion } from './version.ts'

const of = (runc: string) =>
  engineVersion(
    {
      Version: '28.5.1',
      Components: [
        { Name: 'Engine', Version: '28.5.1' },
        { Name: 'runc', Version: runc },
      ],
    },
    'runc',
  )

describe('the version of an engine', () => {
  it.each(['1.1.5+ds1', '1.1.15', '1.2.7', '1.3.2', '1.4.0-rc.1', '1.4.0-rc.2', '1.0.0-rc93', 'v1.2.0-8-gabc'])(
    '[C15] warns of runc %s, which has known ways out',
    (version) => {
      expect(of(version).weaknesses).toEqual([expect.stringMatching(/CVE-2025-31133.*update/)])
    },
  )

  it.each(['1.2.8', '1.2.9', '1.3.3', '1.3.4+ds1', '1.4.0-rc.3', '1.4.0', '1.5.0', '2.0.0'])(
    '[C15] has nothing against runc %s',
    (version) => {
      expect(of(version).weaknesses).toEqual([])
    },
  )

  it('[C15] says what runs, and where nothing is known of it', () => {
    expect(of('1.3.4').detail).toBe('docker 28.5.1, runc 1.3.4')
    expect(engineVersion({}, 'runc')).toEqual({
      detail: 'docker of unknown version, runc of unknown version',
      weaknesses: [],
    })
    expect(engineVersion({ Version: '20.10.24+dfsg1' }, 'runsc').detail).toBe('docker 20.10.24, runsc')
  })
})

describe('the mirror of this machine', () => {
  it.each([
    ['deb http://mirror.invalid/debian bookworm main', 'http://mirror.invalid/debian'],
    ['deb [signed-by=/k arch=amd64] https://mirror.invalid/d bookworm main contrib', 'https://mirror.invalid/d'],
    [
      'Types: deb deb-src\nURIs: http://mirror.invalid/x\nSuites: bookworm bookworm-updates\n',
      'http://mirror.invalid/x',
    ],
    ['# deb http://no.invalid bookworm main\ndeb-src http://no.invalid bookworm main', undefined],
    ['deb http://mirror.invalid/security bookworm-security main', undefined],
    ['Types: deb\nURIs: http://mirror.invalid/x\nSuites: bookworm\nEnabled: no', undefined],
  ])('is read from apt: %j', (sources, mirror) => {
    expect(mirrorOf(sources, 'bookworm')).toBe(mirror)
  })
})
