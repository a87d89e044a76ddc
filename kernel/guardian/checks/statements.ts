import type { ClaimDetails } from '../../wire/operator-checks.ts'

/** Something that an agent says of its change and that can be held against the change. */
export interface Statement {
  kind: ClaimDetails['statements'][number]['kind']
  /** The sentence. */
  text: string
  /** Files that it names. */
  paths: string[]
  /** Parts of a policy that it names, as the charter tags them. */
  areas: ('prompt' | 'loop' | 'context' | 'tool' | 'model')[]
}

type Pattern = [kind: Statement['kind'], pattern: RegExp]

const change = '(?:chang|touch|edit|modif|alter)(?:e|es|ed|ing|y|ies|ied|ying|s)?'
const earlier = '(?:previous|earlier|original|old|last|former|prior)'
const patterns: Pattern[] = [
  [
    'comments-only',
    /\b(?:only|just|merely|nothing but|purely)\s+(?:\w+\s+){0,3}?(?:comments?|docs?|documentation|formatting|whitespace)\b/,
  ],
  ['comments-only', /\b(?:comments?|docs?|documentation|formatting|whitespace)[- ](?:only|changes? only)\b/],
  ['comments-only', /\bno (?:code|source|program|functional) (?:is |was |has )?(?:changes?|changed|edits?|edited)\b/],
  ['same-behaviour', /\bno (?:change (?:of|in|to) )?(?:the )?behaviou?r(?:al)?(?: changes?)?\b/],
  ['same-behaviour', /\bbehaviou?r (?:is|stays|remains) (?:unchanged|the same|as it (?:is|was))\b/],
  ['same-behaviour', /\b(?:does not|doesn't|without) (?:chang\w+|alter\w*) (?:any |the |its )?behaviou?r\b/],
  [
    'reverted',
    new RegExp(
      `\\b(?:revert(?:s|ed|ing)?|restor(?:e|es|ed|ing)|undo(?:es|ing)?|undid|(?:roll|put|bring|go)(?:s|es|ed|ing)? back)\\b[^.;]*?(?:\\b${earlier} (?:\\w+ )?(?:version|code|text|prompt|instructions?|behaviou?r|revision|state|loop|tools?|policy|source)\\b|\\br\\d+\\b|\\bP-\\d+\\b|\\b(?:my|the) (?:${earlier} )?(?:change|edit|proposal)s?\\b|[\\w/-]+\\.(?:ts|md|json|txt)\\b)`,
      'i',
    ),
  ],
  [
    'reverted',
    /\bback to (?:r\d+|P-\d+|the (?:previous|earlier|original|old|last good) (?:version|revision|policy|code|source|state))\b/i,
  ],
  [
    'tests-added',
    /\b(?:add(?:s|ed|ing)?|wrote|writes|includ(?:es|ed|ing)|comes with|brings)\s+(?:(?!(?:that|which|who|to|so|before|after|when)\b)[\w-]+\s+){0,5}?tests?\b(?!\s+(?:whether|that the (?:model|agent)|if|tool|command|call))/,
  ],
  [
    'tests-added',
    /\btests? (?:of (?:its|their) own )?(?:(?:were|was|are|is|have been|has been) (?:now |also )?(?:added|written|included|provided)|come along|included)\b/,
  ],
  ['tests-added', /\b(?:covered|tested) by (?:a |an |new |unit |its own )*tests?\b/],
  [
    'tests-pass',
    /\b(?:all |the |its |every |own )*tests? (?:(?:were|are|have been) \w+ and )?(?:still )?(?:pass(?:es|ed)?|succeeds?|succeeded|is green|are green|ran green|hold)\b/,
  ],
  [
    'only-files',
    new RegExp(
      `\\b(?:only|just|nothing but)\\b(?:\\s+\\w+){0,3}?\\s+${change}\\b|\\b${change}\\s+(?:only|just|nothing but|no(?:thing| file) (?:else )?(?:but|than|except))\\b`,
    ),
  ],
  ['touched', /\b(?:changes?|changed|edits|edited|touches|touched|modifies|modified|extends|extended)\b/],
  [
    'untouched',
    new RegExp(
      `\\b(?:does not|doesn't|did not|didn't|never|without|not)\\s+${change}\\b|\\b(?:is|are|stays?|remains?|left)\\s+(?:unchanged|untouched|as (?:it|they) (?:is|was|are|were)|alone)\\b`,
    ),
  ],
]

const areas: [area: Statement['areas'][number], words: RegExp][] = [
  ['prompt', /\b(?:prompts?|instructions?)\b/],
  ['loop', /\b(?:the|turn|main) loop\b/],
  ['context', /\bcontext\b/],
  ['tool', /\b(?:any|the|existing|other) tools?\b/],
]

/** What a text says that can be checked; each sentence under each head once. What it merely plans or wishes is not among it. */
export function statementsIn(text: string): Statement[] {
  return text
    .split(/(?<=[.!?;])\s+|\n+/)
    .map((sentence) => sentence.trim())
    .filter(
      (sentence) => sentence !== '' && !/\b(?:should|could|would|will|may|might|if|plan to|want to)\b/i.test(sentence),
    )
    .flatMap((sentence) => {
      const said = sentence.toLowerCase()
      const paths = [...new Set(sentence.match(/[\w./-]*\w\.(?:ts|md|json|txt)\b/g) ?? [])].map((path) =>
        path.replace(/^\/?policy\/|^\.\//, ''),
      )
      const named = areas.filter(([, words]) => words.test(said)).map(([area]) => area)
      const found = new Set(
        patterns
          .filter(([, pattern]) => holds(pattern, pattern.flags.includes('i') ? sentence : said))
          .map(([kind]) => kind),
      )
      // Of what is said of files, the strictest.
      const kinds = [...found].filter(
        (kind) => kind !== 'touched' || !(found.has('only-files') || found.has('untouched')),
      )
      return kinds.map((kind): Statement => ({ kind, text: sentence.slice(0, 500), paths, areas: named }))
    })
    .filter(({ kind, paths, areas: of }) => {
      if (kind === 'only-files' || kind === 'touched') return paths.length > 0
      return kind !== 'untouched' || paths.length > 0 || of.length > 0
    })
}

/** `does not revert` says nothing of the kind. */
function holds(pattern: RegExp, sentence: string): boolean {
  const found = pattern.exec(sentence)
  if (found === null) return false
  return !/\b(?:not|never|cannot|n't)\s+(?:\w+\s+)?$/.test(sentence.slice(0, found.index))
}
