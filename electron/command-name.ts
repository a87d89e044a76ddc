/** Texts name commands as `exodesk COMMAND …`; a clone sets how they are typed there (electron/launch.mjs). */
const typed = process.env.EXODESK_COMMAND || 'exodesk'

/** The text with its commands as they work where this runs: `npm run -s exodesk -- COMMAND …` in a clone. */
export function hint(text: string): string {
  return text.replaceAll(/\bexodesk (?=[a-z])/g, `${typed} `)
}
