// Calls that were made once alone need no index: nothing asks for them.
export const speed = `
  DROP INDEX repeated_calls_count;
  CREATE INDEX repeated_calls_count ON repeated_calls (task, count) WHERE count > 1;
`
