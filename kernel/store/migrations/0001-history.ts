// The first schema. Never edited once released: what comes later is a migration of its own.

const refuse = (table: string, operation: 'UPDATE' | 'DELETE') => `
  CREATE TRIGGER ${table}_no_${operation.toLowerCase()} BEFORE ${operation} ON ${table}
  BEGIN SELECT RAISE(ABORT, '${table} is append-only'); END;`

const appendOnly = (table: string) => refuse(table, 'UPDATE') + refuse(table, 'DELETE')

/** The first row of a key stays: a later one with the same key is dropped, by whatever INSERT it comes. */
const firstStays = (table: string, key: string) => `
  CREATE TRIGGER ${table}_first_stays BEFORE INSERT ON ${table}
  WHEN EXISTS (SELECT 1 FROM ${table} WHERE ${key
    .split(', ')
    .map((column) => `${column} = NEW.${column}`)
    .join(' AND ')})
  BEGIN SELECT RAISE(IGNORE); END;`

const tokens = `
  uncached INTEGER NOT NULL DEFAULT 0,
  cache_read INTEGER NOT NULL DEFAULT 0,
  cache_write INTEGER NOT NULL DEFAULT 0,
  output INTEGER NOT NULL DEFAULT 0,
  reasoning INTEGER NOT NULL DEFAULT 0,
  calls INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  cost_nano_usd INTEGER NOT NULL DEFAULT 0,
  unpriced INTEGER NOT NULL DEFAULT 0`

export const history = `
  -- Which version of the program made each schema.
  CREATE TABLE schemas (number INTEGER PRIMARY KEY, version TEXT NOT NULL) STRICT;
  ${firstStays('schemas', 'number')} ${appendOnly('schemas')}

  CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    agent TEXT,
    task TEXT,
    run TEXT,
    generation INTEGER,
    turn INTEGER,
    step INTEGER,
    actor TEXT NOT NULL,
    revision TEXT,
    kind TEXT NOT NULL,
    payload_hash TEXT NOT NULL,
    prev_hash TEXT NOT NULL,
    hash TEXT NOT NULL,
    -- Tool of tool.called and tool.finished, for reading by it.
    tool TEXT,
    -- Usage of model.called and model.attempted.
    uncached INTEGER, cache_read INTEGER, cache_write INTEGER, output INTEGER, reasoning INTEGER, cost_nano_usd INTEGER,
    -- null once tombstoned.
    data TEXT
  ) STRICT;
  CREATE INDEX events_agent ON events (agent);
  CREATE INDEX events_task ON events (task);
  CREATE INDEX events_kind ON events (kind);
  CREATE INDEX events_agent_kind ON events (agent, kind);
  CREATE INDEX events_task_kind ON events (task, kind);
  CREATE INDEX events_tool ON events (tool) WHERE tool IS NOT NULL;

  CREATE TRIGGER events_no_gap BEFORE INSERT ON events
  WHEN NEW.prev_hash IS NOT iif(NEW.seq = 1, '${'0'.repeat(64)}', (SELECT hash FROM events WHERE seq = NEW.seq - 1))
    OR EXISTS (SELECT 1 FROM events WHERE seq >= NEW.seq)
  BEGIN SELECT RAISE(ABORT, 'events is append-only: a row must follow the head'); END;
  CREATE TRIGGER events_no_update BEFORE UPDATE ON events
  WHEN NOT (
    OLD.data IS NOT NULL AND NEW.data IS NULL
    AND EXISTS (SELECT 1 FROM tombstones WHERE seq = OLD.seq)
    AND NEW.seq = OLD.seq AND NEW.hash = OLD.hash AND NEW.prev_hash = OLD.prev_hash AND NEW.payload_hash = OLD.payload_hash
    AND NEW.at = OLD.at AND NEW.agent IS OLD.agent AND NEW.task IS OLD.task AND NEW.run IS OLD.run
    AND NEW.generation IS OLD.generation AND NEW.turn IS OLD.turn AND NEW.step IS OLD.step AND NEW.actor = OLD.actor
    AND NEW.revision IS OLD.revision AND NEW.kind = OLD.kind AND NEW.tool IS OLD.tool
    AND NEW.uncached IS OLD.uncached AND NEW.cache_read IS OLD.cache_read AND NEW.cache_write IS OLD.cache_write
    AND NEW.output IS OLD.output AND NEW.reasoning IS OLD.reasoning AND NEW.cost_nano_usd IS OLD.cost_nano_usd
  )
  BEGIN SELECT RAISE(ABORT, 'events is append-only'); END;
  ${refuse('events', 'DELETE')}

  -- Which payloads an operator has had removed, and the event that says so.
  CREATE TABLE tombstones (seq INTEGER PRIMARY KEY REFERENCES events, by INTEGER NOT NULL REFERENCES events) STRICT;
  ${firstStays('tombstones', 'seq')} ${appendOnly('tombstones')}

  CREATE TABLE blobs (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, bytes BLOB NOT NULL) STRICT;
  ${firstStays('blobs', 'hash')} ${appendOnly('blobs')}

  -- Since which seq an agent may read a blob.
  CREATE TABLE grants (agent TEXT NOT NULL, hash TEXT NOT NULL REFERENCES blobs (hash), seq INTEGER NOT NULL, PRIMARY KEY (agent, hash))
    STRICT, WITHOUT ROWID;
  ${firstStays('grants', 'agent, hash')} ${appendOnly('grants')}

  -- A model request: the first \`kept\` items of its parent, then its own.
  CREATE TABLE requests (
    id INTEGER PRIMARY KEY,
    agent TEXT NOT NULL,
    task TEXT NOT NULL,
    model TEXT NOT NULL,
    parent INTEGER REFERENCES requests,
    kept INTEGER NOT NULL,
    items INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX requests_task ON requests (task);
  ${firstStays('requests', 'id')} ${appendOnly('requests')}
  CREATE TABLE request_items (
    request INTEGER NOT NULL REFERENCES requests,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL,
    hash TEXT NOT NULL REFERENCES blobs (hash),
    PRIMARY KEY (request, position)
  ) STRICT, WITHOUT ROWID;
  ${firstStays('request_items', 'request, position')} ${appendOnly('request_items')}

  -- From here on: derived from events, in the same commit.
  CREATE TABLE forks (agent TEXT PRIMARY KEY, parent TEXT NOT NULL, parent_seq INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  ${firstStays('forks', 'agent')} ${appendOnly('forks')}

  CREATE TABLE artifacts (
    agent TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    hash TEXT NOT NULL REFERENCES blobs (hash),
    size_bytes INTEGER NOT NULL,
    at INTEGER NOT NULL,
    seq INTEGER NOT NULL REFERENCES events,
    PRIMARY KEY (agent, name, version)
  ) STRICT, WITHOUT ROWID;
  ${firstStays('artifacts', 'agent, name, version')} ${appendOnly('artifacts')}

  CREATE TABLE activations (
    agent TEXT NOT NULL,
    seq INTEGER NOT NULL REFERENCES events,
    activation INTEGER NOT NULL,
    revision TEXT NOT NULL,
    PRIMARY KEY (agent, seq)
  ) STRICT, WITHOUT ROWID;
  ${firstStays('activations', 'agent, seq')} ${appendOnly('activations')}

  CREATE TABLE progress (
    task TEXT PRIMARY KEY, agent TEXT, seq INTEGER NOT NULL,
    value REAL NOT NULL, goal REAL, unit TEXT NOT NULL, source TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX progress_agent ON progress (agent, seq);

  CREATE TABLE step_rollup (
    task TEXT NOT NULL,
    turn INTEGER NOT NULL,
    step INTEGER NOT NULL,
    agent TEXT,
    activation INTEGER NOT NULL,
    revision TEXT NOT NULL,
    at INTEGER NOT NULL,
    tool_calls INTEGER NOT NULL DEFAULT 0,
    progress REAL,
    break_seq INTEGER, break_index INTEGER, break_kind TEXT,
    ${tokens},
    PRIMARY KEY (task, turn, step)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX step_rollup_at ON step_rollup (at);

  CREATE TABLE activation_rollup (
    task TEXT NOT NULL,
    activation INTEGER NOT NULL,
    agent TEXT,
    revision TEXT NOT NULL,
    steps INTEGER NOT NULL DEFAULT 0,
    progress_from REAL,
    progress_to REAL,
    ${tokens},
    PRIMARY KEY (task, activation)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX activation_rollup_agent ON activation_rollup (agent);

  -- Agent and task are '' where an event has none.
  CREATE TABLE model_rollup (
    agent TEXT NOT NULL, task TEXT NOT NULL, model TEXT NOT NULL, ${tokens},
    PRIMARY KEY (agent, task, model)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX model_rollup_task ON model_rollup (task);
  CREATE TABLE minute_rollup (
    minute INTEGER NOT NULL, agent TEXT NOT NULL, task TEXT NOT NULL, ${tokens},
    PRIMARY KEY (minute, agent, task)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE tool_rollup (
    agent TEXT NOT NULL,
    task TEXT NOT NULL,
    name TEXT NOT NULL,
    calls INTEGER NOT NULL DEFAULT 0,
    errors INTEGER NOT NULL DEFAULT 0,
    interrupted INTEGER NOT NULL DEFAULT 0,
    output_bytes INTEGER NOT NULL DEFAULT 0,
    duration_ms REAL NOT NULL DEFAULT 0,
    PRIMARY KEY (agent, task, name)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX tool_rollup_task ON tool_rollup (task);

  CREATE TABLE repeated_calls (
    task TEXT NOT NULL,
    name TEXT NOT NULL,
    arguments_hash TEXT NOT NULL,
    arguments TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (task, name, arguments_hash)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX repeated_calls_count ON repeated_calls (task, count);

  CREATE TABLE cache_breaks (
    task TEXT NOT NULL,
    seq INTEGER NOT NULL REFERENCES events,
    step INTEGER,
    item INTEGER NOT NULL,
    kind TEXT NOT NULL,
    cost_nano_usd INTEGER,
    PRIMARY KEY (task, seq)
  ) STRICT, WITHOUT ROWID;
  ${firstStays('cache_breaks', 'task, seq')} ${appendOnly('cache_breaks')}
`
