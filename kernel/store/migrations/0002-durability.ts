// What a full verification compares with: each of these indexes repeats a table that no event covers, so that a changed
// byte in either shows as a difference between the two. And blobs may move into a file beside the database.
export const durability = `
  CREATE INDEX schemas_version ON schemas (version, number);
  CREATE INDEX grants_seq ON grants (seq, agent, hash);
  DROP INDEX requests_task;
  CREATE INDEX requests_task ON requests (task, id, agent, model, parent, kept, items);

  -- Which blobs lie in a file of DATA/archive, where in it, and the event that says so. Their bytes here are then empty.
  CREATE TABLE archived_blobs (
    hash TEXT PRIMARY KEY REFERENCES blobs (hash),
    file TEXT NOT NULL,
    offset INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    by INTEGER NOT NULL REFERENCES events
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX archived_blobs_file ON archived_blobs (file, offset, size_bytes, hash, by);
  CREATE TRIGGER archived_blobs_first_stays BEFORE INSERT ON archived_blobs
  WHEN EXISTS (SELECT 1 FROM archived_blobs WHERE hash = NEW.hash)
  BEGIN SELECT RAISE(IGNORE); END;
  CREATE TRIGGER archived_blobs_no_update BEFORE UPDATE ON archived_blobs
  BEGIN SELECT RAISE(ABORT, 'archived_blobs is append-only'); END;
  CREATE TRIGGER archived_blobs_no_delete BEFORE DELETE ON archived_blobs
  BEGIN SELECT RAISE(ABORT, 'archived_blobs is append-only'); END;

  DROP TRIGGER blobs_no_update;
  CREATE TRIGGER blobs_no_update BEFORE UPDATE ON blobs
  WHEN NOT (
    NEW.id = OLD.id AND NEW.hash = OLD.hash AND NEW.bytes = x''
    AND EXISTS (SELECT 1 FROM archived_blobs WHERE hash = OLD.hash AND size_bytes = length(OLD.bytes))
  )
  BEGIN SELECT RAISE(ABORT, 'blobs is append-only'); END;
`
