// What each tool's calls asked of the kernel, and an index by which one tool's latest calls are read and counted.
export const tools = `
  CREATE TABLE tool_operations (
    agent TEXT NOT NULL,
    task TEXT NOT NULL,
    name TEXT NOT NULL,
    operation TEXT NOT NULL,
    calls INTEGER NOT NULL,
    PRIMARY KEY (agent, task, name, operation)
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX events_agent_tool ON events (agent, tool, kind) WHERE tool IS NOT NULL;
`
