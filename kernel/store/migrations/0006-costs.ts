// What the cost screen reads: spend by quarter of an hour, so that any time zone's day is a sum of whole rows; what each
// step's context was made of; why a prompt cache was missed; calls that were made again.

const spend = `
  uncached INTEGER NOT NULL DEFAULT 0,
  cache_read INTEGER NOT NULL DEFAULT 0,
  cache_write INTEGER NOT NULL DEFAULT 0,
  output INTEGER NOT NULL DEFAULT 0,
  reasoning INTEGER NOT NULL DEFAULT 0,
  calls INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  cost_nano_usd INTEGER NOT NULL DEFAULT 0,
  unpriced INTEGER NOT NULL DEFAULT 0,
  simulated INTEGER NOT NULL DEFAULT 0,
  -- Calls whose tokens are an estimate, or of which none are known.
  estimated INTEGER NOT NULL DEFAULT 0,
  cache_unreported INTEGER NOT NULL DEFAULT 0,
  -- Tokens of the request by part, as counted before it was sent.
  instructions INTEGER NOT NULL DEFAULT 0,
  tool_definitions INTEGER NOT NULL DEFAULT 0,
  memory INTEGER NOT NULL DEFAULT 0,
  messages INTEGER NOT NULL DEFAULT 0,
  tool_results INTEGER NOT NULL DEFAULT 0,
  -- What the always-on parts cost, nano-dollars, estimated; and calls of which that is not known.
  rent_instructions INTEGER NOT NULL DEFAULT 0,
  rent_tools INTEGER NOT NULL DEFAULT 0,
  rent_memory INTEGER NOT NULL DEFAULT 0,
  rent_unknown INTEGER NOT NULL DEFAULT 0,
  turns INTEGER NOT NULL DEFAULT 0,
  breaks INTEGER NOT NULL DEFAULT 0,
  missed INTEGER NOT NULL DEFAULT 0,
  missed_nano_usd INTEGER NOT NULL DEFAULT 0,
  missed_unknown INTEGER NOT NULL DEFAULT 0`

export const costs = `
  -- slot: at / 900,000 ms. purpose: 'task', or 'check' for what the kernel asked by itself. '' where there is none.
  CREATE TABLE spend_slots (
    slot INTEGER NOT NULL, agent TEXT NOT NULL, task TEXT NOT NULL, activation INTEGER NOT NULL, revision TEXT NOT NULL,
    purpose TEXT NOT NULL, model TEXT NOT NULL,
    ${spend},
    PRIMARY KEY (slot, agent, task, activation, revision, purpose, model)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX spend_slots_task ON spend_slots (task);
  CREATE INDEX spend_slots_agent ON spend_slots (agent);

  -- The same by step, with its latest call and the tools that it called ({"NAME": calls}).
  CREATE TABLE step_costs (
    task TEXT NOT NULL, turn INTEGER NOT NULL, step INTEGER NOT NULL,
    agent TEXT NOT NULL, activation INTEGER NOT NULL, revision TEXT NOT NULL, purpose TEXT NOT NULL,
    slot INTEGER NOT NULL, model TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL,
    input INTEGER NOT NULL, input_read INTEGER NOT NULL, tool_names TEXT NOT NULL,
    ${spend},
    PRIMARY KEY (task, turn, step)
  ) STRICT, WITHOUT ROWID;

  -- Each step's spend in equal parts among its tool calls; name '' where there are none.
  CREATE TABLE tool_slots (
    slot INTEGER NOT NULL, agent TEXT NOT NULL, task TEXT NOT NULL, purpose TEXT NOT NULL, name TEXT NOT NULL,
    tool_calls INTEGER NOT NULL DEFAULT 0,
    uncached INTEGER NOT NULL DEFAULT 0,
    cache_read INTEGER NOT NULL DEFAULT 0,
    cache_write INTEGER NOT NULL DEFAULT 0,
    output INTEGER NOT NULL DEFAULT 0,
    reasoning INTEGER NOT NULL DEFAULT 0,
    cost_nano_usd INTEGER NOT NULL DEFAULT 0,
    unpriced INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (slot, agent, task, purpose, name)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX tool_slots_task ON tool_slots (task);
  CREATE INDEX tool_slots_agent ON tool_slots (agent);

  -- Steps in which a call was made that the task had made before.
  CREATE TABLE repeats (
    task TEXT NOT NULL, name TEXT NOT NULL, arguments_hash TEXT NOT NULL, turn INTEGER NOT NULL, step INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    PRIMARY KEY (task, name, arguments_hash, turn, step)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX repeats_turn ON repeats (task, turn);
  CREATE INDEX repeated_calls_most ON repeated_calls (count) WHERE count > 1;

  -- Calls that failed, have no known cost, or whose tokens were not reported.
  CREATE TABLE troubled_calls (
    seq INTEGER PRIMARY KEY REFERENCES events,
    slot INTEGER NOT NULL, agent TEXT NOT NULL, task TEXT NOT NULL, turn INTEGER
  ) STRICT;
  CREATE INDEX troubled_calls_task ON troubled_calls (task, seq);
  CREATE INDEX troubled_calls_agent ON troubled_calls (agent, seq);

  DROP TABLE cache_breaks;
  -- kind 'none': nothing differed, and yet the provider read less than half of what it had.
  CREATE TABLE cache_breaks (
    task TEXT NOT NULL,
    seq INTEGER NOT NULL REFERENCES events,
    slot INTEGER NOT NULL, agent TEXT NOT NULL, turn INTEGER, step INTEGER,
    activation INTEGER NOT NULL, revision TEXT NOT NULL, model TEXT NOT NULL,
    item INTEGER, kind TEXT NOT NULL, what TEXT, before TEXT, after TEXT,
    -- The call before it.
    since INTEGER, since_revision TEXT, idle_ms INTEGER,
    -- Estimated; null: not known.
    missed INTEGER, missed_nano_usd INTEGER,
    cost_nano_usd INTEGER,
    PRIMARY KEY (task, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX cache_breaks_slot ON cache_breaks (slot, seq);
  CREATE INDEX cache_breaks_agent ON cache_breaks (agent, seq);
  CREATE TRIGGER cache_breaks_first_stays BEFORE INSERT ON cache_breaks
  WHEN EXISTS (SELECT 1 FROM cache_breaks WHERE task = NEW.task AND seq = NEW.seq)
  BEGIN SELECT RAISE(IGNORE); END;
  CREATE TRIGGER cache_breaks_no_update BEFORE UPDATE ON cache_breaks
  BEGIN SELECT RAISE(ABORT, 'cache_breaks is append-only'); END;
  CREATE TRIGGER cache_breaks_no_delete BEFORE DELETE ON cache_breaks
  BEGIN SELECT RAISE(ABORT, 'cache_breaks is append-only'); END;
`
