/** Of the policy's own tests and what they are judged by; a program does not load them. */
export const isTest = (path: string): boolean => /(?:^|\/)(?:tests?|graders?|scorers?|evals?)\/|\.test\.ts$/.test(path)
