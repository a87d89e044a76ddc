// What a colour looks like: contrast as WCAG counts it, and how far two are apart, for every kind of colour vision.

export type Rgb = readonly [red: number, green: number, blue: number]
export type Vision = 'full' | 'no red' | 'no green' | 'no blue'

export function rgbOf(hex: string): Rgb {
  const found = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(hex)
  if (!found) throw new Error(`${hex} is no colour of six digits`)
  return [found[1], found[2], found[3]].map((part) => Number.parseInt(part ?? '', 16) / 255) as unknown as Rgb
}

const linear = (value: number) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)

function luminance(hex: string): number {
  const [red, green, blue] = rgbOf(hex).map(linear) as unknown as Rgb
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** WCAG 2.2: 1 to 21. */
export function contrast(one: string, other: string): number {
  const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number]
  return (high + 0.05) / (low + 0.05)
}

/** Machado, Oliveira and Fernandes 2009, severity 1.0, on linear light. */
const lacking: Readonly<Record<Exclude<Vision, 'full'>, readonly Rgb[]>> = {
  'no red': [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  'no green': [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  'no blue': [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
}

/** CIE 1976: about 2 is seen at once side by side; 10 is another colour. */
export function difference(one: string, other: string, vision: Vision): number {
  const [a, b] = [one, other].map((hex) => lab(seen(rgbOf(hex), vision))) as [Rgb, Rgb]
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2])
}

function seen(rgb: Rgb, vision: Vision): Rgb {
  const light = rgb.map(linear) as unknown as Rgb
  if (vision === 'full') return light
  return lacking[vision].map((row) =>
    Math.min(1, Math.max(0, row[0] * light[0] + row[1] * light[1] + row[2] * light[2])),
  ) as unknown as Rgb
}

function lab([red, green, blue]: Rgb): Rgb {
  const f = (value: number) => (value > 0.008856 ? Math.cbrt(value) : 7.787 * value + 16 / 116)
  const x = f((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047)
  const y = f(0.2126 * red + 0.7152 * green + 0.0722 * blue)
  const z = f((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883)
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)]
}
