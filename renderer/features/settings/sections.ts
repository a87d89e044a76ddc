/** In the order of the list; `words` are what else each is found by. */
export const sections = [
  { section: 'keys', name: 'Models and keys', words: 'endpoint, API, credential, passphrase, test a model' },
  { section: 'prices', name: 'Prices', words: 'USD per million tokens, override, cost' },
  { section: 'budgets', name: 'Budgets', words: 'limit of the day, of an agent, USD, tokens, cap' },
  { section: 'sandbox', name: 'Sandbox', words: 'Docker, bubblewrap, doctor, probes, boxes, isolation' },
  { section: 'rules', name: 'Rules', words: 'approve without a person, hits, revoke, expiry' },
  { section: 'notifications', name: 'Notifications', words: 'decision, failed, budget, sound, quiet hours' },
  { section: 'data', name: 'Data', words: 'sizes, folder, verify, backup, export, archive, disk' },
  { section: 'appearance', name: 'Appearance', words: 'theme, light, dark, density, rows' },
  { section: 'accessibility', name: 'Accessibility', words: 'contrast, colour vision, motion, bare keys' },
  { section: 'shortcuts', name: 'Shortcuts', words: 'keys, keyboard, remap, chord, reset' },
  { section: 'diagnostics', name: 'Diagnostics', words: 'versions, contract, report, copy, about' },
] as const

export type Section = (typeof sections)[number]['section']
