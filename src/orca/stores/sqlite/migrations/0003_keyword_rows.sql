-- The keyword index keeps the terms of each row beside FTS5, and gives each conversation a run of places of its own.
CREATE TABLE IF NOT EXISTS keyword_owners (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    last_session INTEGER NOT NULL DEFAULT 0,
    UNIQUE (user_id, agent)
);

CREATE TABLE IF NOT EXISTS keyword_sessions (
    number INTEGER PRIMARY KEY,
    user_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    session_id TEXT NOT NULL,
    UNIQUE (user_id, agent, session_id)
);

CREATE TABLE IF NOT EXISTS keyword_totals (
    record TEXT NOT NULL CHECK(record IN ('message', 'summary', 'memory')),
    number INTEGER NOT NULL, -- of a session, or of an owner for all of theirs
    documents INTEGER NOT NULL,
    terms INTEGER NOT NULL,
    PRIMARY KEY (record, number)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS terms_main_messages (
    place INTEGER PRIMARY KEY, -- the run of the session, and the position in it
    id INTEGER NOT NULL UNIQUE,
    length INTEGER NOT NULL, -- in terms
    characters INTEGER NOT NULL,
    hashes BLOB NOT NULL,
    counts BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS terms_short_term_memories (
    place INTEGER PRIMARY KEY,
    id INTEGER NOT NULL UNIQUE,
    length INTEGER NOT NULL, -- in terms
    characters INTEGER NOT NULL,
    hashes BLOB NOT NULL,
    counts BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS terms_long_term_memories (
    place INTEGER PRIMARY KEY,
    id INTEGER NOT NULL UNIQUE,
    length INTEGER NOT NULL, -- in terms
    characters INTEGER NOT NULL,
    hashes BLOB NOT NULL,
    counts BLOB NOT NULL
);

-- An index of the older shape is built anew at this opening.
INSERT OR IGNORE INTO meta(key, value)
SELECT 'keyword.' || record, 'the keyword index is of an older version'
FROM (SELECT 'message' AS record, 'main_messages' AS name
      UNION SELECT 'summary', 'short_term_memories' UNION SELECT 'memory', 'long_term_memories')
WHERE 'fts_' || name IN (SELECT name FROM sqlite_schema);

ALTER TABLE main_messages DROP COLUMN term_count;
ALTER TABLE short_term_memories DROP COLUMN term_count;
ALTER TABLE long_term_memories DROP COLUMN term_count;
