-- The whole schema as the migrations leave it; a test proves that the two are equal.
-- Times are fixed-width ISO 8601 text in UTC, which sorts as text. Keyword and vector tables are virtual: they are
-- built by code (fts.py, vectors.py), because a machine may lack the modules behind them.

CREATE TABLE IF NOT EXISTS schema_migrations (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at DATETIME NOT NULL
);

CREATE TABLE IF NOT EXISTS meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS sessions (
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    title TEXT,
    parent TEXT,
    state TEXT NOT NULL DEFAULT 'open' CHECK(state IN ('open', 'ended')),
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL,
    consolidated_position INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX IF NOT EXISTS idx_sessions_activity ON sessions(user_id, updated_at);

-- The last position given out: a deleted message's position is never given again.
CREATE TABLE IF NOT EXISTS session_positions (
    user_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    last_position INTEGER NOT NULL,
    PRIMARY KEY (user_id, session_id, agent)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS short_term_memories (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    content TEXT NOT NULL,
    source_count INTEGER DEFAULT 1,
    confidence REAL DEFAULT 0.8 CHECK(confidence BETWEEN 0 AND 1),
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP,
    updated_at DATETIME,
    user_id TEXT NOT NULL DEFAULT 'default',
    agent TEXT NOT NULL DEFAULT 'main',
    source_message_ids JSON NOT NULL DEFAULT '[]',
    origin TEXT NOT NULL DEFAULT 'assistant',
    method TEXT NOT NULL DEFAULT 'extractive',
    consolidated BOOLEAN NOT NULL DEFAULT FALSE,
    has_embedding BOOLEAN NOT NULL DEFAULT FALSE);
CREATE INDEX IF NOT EXISTS idx_stm_session ON short_term_memories(session_id, updated_at DESC);
CREATE INDEX IF NOT EXISTS idx_stm_scope ON short_term_memories(user_id, session_id, agent, id);
CREATE INDEX IF NOT EXISTS idx_stm_unembedded ON short_term_memories(id) WHERE NOT has_embedding;

CREATE TABLE IF NOT EXISTS main_messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    role TEXT NOT NULL CHECK(role IN ('user', 'assistant', 'system', 'tool')),
    content TEXT NOT NULL,
    msg_type TEXT DEFAULT 'normal' CHECK(msg_type IN ('normal', 'fact', 'todo', 'decision', 'preference', 'error')),
    token_count INTEGER DEFAULT 0,
    has_embedding BOOLEAN DEFAULT FALSE,
    timestamp DATETIME DEFAULT CURRENT_TIMESTAMP,
    metadata JSON,
    user_id TEXT NOT NULL DEFAULT 'default',
    agent TEXT NOT NULL DEFAULT 'main',
    position INTEGER NOT NULL,
    name TEXT,
    raw_content JSON, -- NULL when the content is plain text; else the content itself (a list, or null)
    tool_calls JSON,
    tool_call_id TEXT,
    origin TEXT,
    reasoning TEXT,
    embeddable BOOLEAN NOT NULL DEFAULT FALSE,
    summary_id INTEGER REFERENCES short_term_memories(id) ON DELETE SET NULL,
    content_hash TEXT,
    dedupe_key TEXT
);
CREATE INDEX IF NOT EXISTS idx_main_session_time ON main_messages(session_id, timestamp DESC);
CREATE INDEX IF NOT EXISTS idx_main_role ON main_messages(role) WHERE role IN ('user', 'assistant');
CREATE INDEX IF NOT EXISTS idx_main_activity ON main_messages(user_id, timestamp);
CREATE UNIQUE INDEX IF NOT EXISTS idx_main_position ON main_messages(user_id, session_id, agent, position);
CREATE UNIQUE INDEX IF NOT EXISTS idx_main_dedupe ON main_messages(user_id, session_id, agent, dedupe_key)
    WHERE dedupe_key IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_main_summary ON main_messages(summary_id) WHERE summary_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_main_unembedded ON main_messages(id) WHERE embeddable AND NOT has_embedding;

CREATE TABLE IF NOT EXISTS long_term_memories (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    content TEXT NOT NULL,
    memory_type TEXT NOT NULL CHECK(memory_type IN ('preference', 'fact', 'decision', 'project')),
    source_session TEXT,
    confidence REAL DEFAULT 0.5 CHECK(confidence BETWEEN 0 AND 1),
    access_count INTEGER DEFAULT 0,
    last_accessed DATETIME,
    expires_at DATETIME,
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP,
    user_id TEXT NOT NULL DEFAULT 'default',
    agent TEXT NOT NULL DEFAULT 'main',
    source_message_ids JSON NOT NULL DEFAULT '[]',
    origin TEXT NOT NULL DEFAULT 'user',
    state TEXT NOT NULL DEFAULT 'active' CHECK(state IN ('active', 'superseded', 'retired', 'forgotten')),
    slot TEXT,
    evidence_count INTEGER NOT NULL DEFAULT 1,
    pinned BOOLEAN NOT NULL DEFAULT FALSE,
    root_id INTEGER,
    superseded_by INTEGER,
    valid_from DATETIME,
    valid_to DATETIME,
    updated_at DATETIME,
    has_embedding BOOLEAN NOT NULL DEFAULT FALSE,
    metadata JSON
);
CREATE INDEX IF NOT EXISTS idx_ltm_type ON long_term_memories(memory_type, confidence DESC);
CREATE INDEX IF NOT EXISTS idx_ltm_scope ON long_term_memories(user_id, agent, state, id);
CREATE INDEX IF NOT EXISTS idx_ltm_root ON long_term_memories(root_id);
CREATE INDEX IF NOT EXISTS idx_ltm_slot ON long_term_memories(user_id, agent, slot) WHERE slot IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_ltm_content ON long_term_memories(user_id, agent, content);
CREATE INDEX IF NOT EXISTS idx_ltm_unembedded ON long_term_memories(id) WHERE state = 'active' AND NOT has_embedding;

CREATE TABLE IF NOT EXISTS subagent_runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    owner_agent TEXT NOT NULL, -- the agent that delegated; agent_name is the one that did the work
    agent_name TEXT NOT NULL,
    task TEXT NOT NULL,
    parent_message_id INTEGER REFERENCES main_messages(id) ON DELETE CASCADE,
    parent_run_id INTEGER REFERENCES subagent_runs(id) ON DELETE CASCADE,
    status TEXT NOT NULL DEFAULT 'running'
        CHECK(status IN ('running', 'done', 'failed', 'cancelled', 'timed_out')),
    summary TEXT,
    error TEXT,
    tokens INTEGER NOT NULL DEFAULT 0,
    started_at DATETIME NOT NULL,
    ended_at DATETIME
);
CREATE INDEX IF NOT EXISTS idx_runs_scope ON subagent_runs(user_id, session_id, owner_agent, id);
CREATE INDEX IF NOT EXISTS idx_runs_parent ON subagent_runs(parent_message_id);
CREATE INDEX IF NOT EXISTS idx_runs_parent_run ON subagent_runs(parent_run_id);

CREATE TABLE IF NOT EXISTS subagent_messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    parent_msg_id INTEGER, -- NULL when the run was opened before its parent message was known
    session_id TEXT NOT NULL,
    agent_name TEXT NOT NULL,
    role TEXT NOT NULL CHECK(role IN ('user', 'assistant', 'system', 'tool')),
    content TEXT NOT NULL,
    timestamp DATETIME DEFAULT CURRENT_TIMESTAMP,
    user_id TEXT NOT NULL DEFAULT 'default',
    agent TEXT NOT NULL DEFAULT 'main',
    run_id INTEGER NOT NULL REFERENCES subagent_runs(id) ON DELETE CASCADE,
    raw_content JSON,
    tool_calls JSON,
    tool_call_id TEXT,
    name TEXT,
    reasoning TEXT,
    token_count INTEGER NOT NULL DEFAULT 0,
    metadata JSON,
    FOREIGN KEY (parent_msg_id) REFERENCES main_messages(id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS idx_subagent_parent ON subagent_messages(parent_msg_id);
CREATE INDEX IF NOT EXISTS idx_subagent_run ON subagent_messages(run_id, id);

CREATE TABLE IF NOT EXISTS jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK(kind IN ('embed', 'summarize', 'consolidate')),
    record TEXT NOT NULL CHECK(record IN ('message', 'summary', 'memory')),
    target_id INTEGER NOT NULL,
    user_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    run_after DATETIME NOT NULL,
    last_error TEXT,
    lease_owner TEXT,
    lease_until DATETIME,
    created_at DATETIME NOT NULL,
    UNIQUE (record, target_id, kind)
);
CREATE INDEX IF NOT EXISTS idx_jobs_session ON jobs(user_id, session_id);
CREATE INDEX IF NOT EXISTS idx_jobs_backlog ON jobs(user_id, kind, last_error);

CREATE TABLE IF NOT EXISTS embedding_spaces (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    dimensions INTEGER NOT NULL CHECK(dimensions > 0),
    query_prefix TEXT NOT NULL,
    document_prefix TEXT NOT NULL,
    current BOOLEAN NOT NULL DEFAULT FALSE,
    created_at DATETIME NOT NULL
);

-- Vectors that came while the vector extension was missing, so that nothing is paid for twice.
CREATE TABLE IF NOT EXISTS parked_vectors (
    space_id INTEGER NOT NULL REFERENCES embedding_spaces(id) ON DELETE CASCADE,
    record TEXT NOT NULL CHECK(record IN ('message', 'summary', 'memory')),
    target_id INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    session INTEGER NOT NULL,
    embedding BLOB NOT NULL,
    PRIMARY KEY (record, target_id, space_id)
);

-- Vectors to remove from a vector table as soon as the extension is back; ids are never given twice.
CREATE TABLE IF NOT EXISTS vector_tombstones (
    space_id INTEGER NOT NULL REFERENCES embedding_spaces(id) ON DELETE CASCADE,
    record TEXT NOT NULL,
    target_id INTEGER NOT NULL,
    PRIMARY KEY (record, target_id, space_id)
) WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS idx_jobs_due ON jobs(kind, run_after);

-- How many rows there are, kept by triggers as rows come and go: whoever shows figures need not walk the rows. `part` is
-- '' for all rows of a kind that a user has; for `days` the day of a message, for `reasons` a job's kind and last error,
-- for the rows of a session its id. `changes` only grows, so that who watches learns from one number that rows changed.
CREATE TABLE IF NOT EXISTS tallies (
    kind TEXT NOT NULL,
    user_id TEXT NOT NULL,
    part TEXT NOT NULL,
    rows INTEGER NOT NULL,
    changes INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (kind, user_id, part)
) WITHOUT ROWID;

CREATE TRIGGER IF NOT EXISTS sessions_come AFTER INSERT ON sessions BEGIN
    INSERT INTO tallies(kind, user_id, part, rows) VALUES
        ('sessions', NEW.user_id, '', 1)
        ON CONFLICT DO UPDATE SET rows = rows + 1, changes = changes + 1;
END;
CREATE TRIGGER IF NOT EXISTS sessions_go AFTER DELETE ON sessions BEGIN
    UPDATE tallies SET rows = rows - 1, changes = changes + 1 WHERE kind = 'sessions' AND user_id = OLD.user_id AND part = '';
END;
CREATE TRIGGER IF NOT EXISTS sessions_change AFTER UPDATE OF title, state, updated_at ON sessions BEGIN
    UPDATE tallies SET changes = changes + 1 WHERE kind = 'sessions' AND user_id = NEW.user_id AND part = '';
END;

CREATE TRIGGER IF NOT EXISTS main_messages_come AFTER INSERT ON main_messages BEGIN
    INSERT INTO tallies(kind, user_id, part, rows) VALUES
        ('messages', NEW.user_id, '', 1),
        ('days', NEW.user_id, coalesce(substr(NEW.timestamp, 1, 10), ''), 1),
        ('session_messages', NEW.user_id, NEW.session_id, 1)
        ON CONFLICT DO UPDATE SET rows = rows + 1, changes = changes + 1;
END;
CREATE TRIGGER IF NOT EXISTS main_messages_go AFTER DELETE ON main_messages BEGIN
    UPDATE tallies SET rows = rows - 1, changes = changes + 1 WHERE kind = 'messages' AND user_id = OLD.user_id AND part = '';
    UPDATE tallies SET rows = rows - 1, changes = changes + 1 WHERE kind = 'days' AND user_id = OLD.user_id AND part = coalesce(substr(OLD.timestamp, 1, 10), '');
    DELETE FROM tallies WHERE kind = 'days' AND user_id = OLD.user_id AND part = coalesce(substr(OLD.timestamp, 1, 10), '') AND rows = 0;
    UPDATE tallies SET rows = rows - 1, changes = changes + 1 WHERE kind = 'session_messages' AND user_id = OLD.user_id AND part = OLD.session_id;
    DELETE FROM tallies WHERE kind = 'session_messages' AND user_id = OLD.user_id AND part = OLD.session_id AND rows = 0;
END;
CREATE TRIGGER IF NOT EXISTS main_messages_change AFTER UPDATE OF content, metadata, origin ON main_messages BEGIN
    UPDATE tallies SET changes = changes + 1 WHERE kind = 'messages' AND user_id = NEW.user_id AND part = '';
END;

CREATE TRIGGER IF NOT EXISTS short_term_memories_come AFTER INSERT ON short_term_memories BEGIN
    INSERT INTO tallies(kind, user_id, part, rows) VALUES
        ('summaries', NEW.user_id, '', 1),
        ('session_summaries', NEW.user_id, NEW.session_id, 1)
        ON CONFLICT DO UPDATE SET rows = rows + 1, changes = changes + 1;
END;
CREATE TRIGGER IF NOT EXISTS short_term_memories_go AFTER DELETE ON short_term_memories BEGIN
    UPDATE tallies SET rows = rows - 1, changes = changes + 1 WHERE kind = 'summaries' AND user_id = OLD.user_id AND part = '';
    UPDATE tallies SET rows = rows - 1, changes = changes + 1 WHERE kind = 'session_summaries' AND user_id = OLD.user_id AND part = OLD.session_id;
    DELETE FROM tallies WHERE kind = 'session_summaries' AND user_id = OLD.user_id AND part = OLD.session_id AND rows = 0;
END;
CREATE TRIGGER IF NOT EXISTS short_term_memories_change AFTER UPDATE OF content, updated_at ON short_term_memories BEGIN
    UPDATE tallies SET changes = changes + 1 WHERE kind = 'summaries' AND user_id = NEW.user_id AND part = '';
END;

CREATE TRIGGER IF NOT EXISTS long_term_memories_come AFTER INSERT ON long_term_memories BEGIN
    INSERT INTO tallies(kind, user_id, part, rows) VALUES
        ('memories', NEW.user_id, '', 1)
        ON CONFLICT DO UPDATE SET rows = rows + 1, changes = changes + 1;
END;
CREATE TRIGGER IF NOT EXISTS long_term_memories_go AFTER DELETE ON long_term_memories BEGIN
    UPDATE tallies SET rows = rows - 1, changes = changes + 1 WHERE kind = 'memories' AND user_id = OLD.user_id AND part = '';
END;
CREATE TRIGGER IF NOT EXISTS long_term_memories_change AFTER UPDATE OF content, memory_type, state, pinned, superseded_by, expires_at, updated_at ON long_term_memories BEGIN
    UPDATE tallies SET changes = changes + 1 WHERE kind = 'memories' AND user_id = NEW.user_id AND part = '';
END;

CREATE TRIGGER IF NOT EXISTS subagent_runs_come AFTER INSERT ON subagent_runs BEGIN
    INSERT INTO tallies(kind, user_id, part, rows) VALUES
        ('subagent_runs', NEW.user_id, '', 1)
        ON CONFLICT DO UPDATE SET rows = rows + 1, changes = changes + 1;
END;
CREATE TRIGGER IF NOT EXISTS subagent_runs_go AFTER DELETE ON subagent_runs BEGIN
    UPDATE tallies SET rows = rows - 1, changes = changes + 1 WHERE kind = 'subagent_runs' AND user_id = OLD.user_id AND part = '';
END;
CREATE TRIGGER IF NOT EXISTS subagent_runs_change AFTER UPDATE OF status, summary, error, tokens, ended_at ON subagent_runs BEGIN
    UPDATE tallies SET changes = changes + 1 WHERE kind = 'subagent_runs' AND user_id = NEW.user_id AND part = '';
END;

CREATE TRIGGER IF NOT EXISTS subagent_messages_come AFTER INSERT ON subagent_messages BEGIN
    INSERT INTO tallies(kind, user_id, part, rows) VALUES
        ('subagent_messages', NEW.user_id, '', 1)
        ON CONFLICT DO UPDATE SET rows = rows + 1, changes = changes + 1;
END;
CREATE TRIGGER IF NOT EXISTS subagent_messages_go AFTER DELETE ON subagent_messages BEGIN
    UPDATE tallies SET rows = rows - 1, changes = changes + 1 WHERE kind = 'subagent_messages' AND user_id = OLD.user_id AND part = '';
END;

CREATE TRIGGER IF NOT EXISTS jobs_come AFTER INSERT ON jobs BEGIN
    INSERT INTO tallies(kind, user_id, part, rows) VALUES
        ('jobs', NEW.user_id, '', 1),
        ('reasons', NEW.user_id, NEW.kind || ':' || coalesce(NEW.last_error, ''), 1)
        ON CONFLICT DO UPDATE SET rows = rows + 1, changes = changes + 1;
END;
CREATE TRIGGER IF NOT EXISTS jobs_go AFTER DELETE ON jobs BEGIN
    UPDATE tallies SET rows = rows - 1, changes = changes + 1 WHERE kind = 'jobs' AND user_id = OLD.user_id AND part = '';
    UPDATE tallies SET rows = rows - 1, changes = changes + 1 WHERE kind = 'reasons' AND user_id = OLD.user_id AND part = OLD.kind || ':' || coalesce(OLD.last_error, '');
    DELETE FROM tallies WHERE kind = 'reasons' AND user_id = OLD.user_id AND part = OLD.kind || ':' || coalesce(OLD.last_error, '') AND rows = 0;
END;
CREATE TRIGGER IF NOT EXISTS jobs_change AFTER UPDATE OF run_after, last_error ON jobs BEGIN
    UPDATE tallies SET changes = changes + 1 WHERE kind = 'jobs' AND user_id = NEW.user_id AND part = '';
END;
CREATE TRIGGER IF NOT EXISTS jobs_reason AFTER UPDATE OF last_error ON jobs
WHEN NEW.last_error IS NOT OLD.last_error BEGIN
    UPDATE tallies SET rows = rows - 1, changes = changes + 1 WHERE kind = 'reasons' AND user_id = OLD.user_id AND part = OLD.kind || ':' || coalesce(OLD.last_error, '');
    DELETE FROM tallies WHERE kind = 'reasons' AND user_id = OLD.user_id AND part = OLD.kind || ':' || coalesce(OLD.last_error, '') AND rows = 0;
    INSERT INTO tallies(kind, user_id, part, rows) VALUES
        ('reasons', NEW.user_id, NEW.kind || ':' || coalesce(NEW.last_error, ''), 1)
        ON CONFLICT DO UPDATE SET rows = rows + 1, changes = changes + 1;
END;

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

-- A short code of each vector, loaded into memory for the search; what code the columns hold: vector_codes.py.
CREATE TABLE IF NOT EXISTS vector_codes (
    space_id INTEGER NOT NULL REFERENCES embedding_spaces(id) ON DELETE CASCADE,
    record TEXT NOT NULL CHECK(record IN ('message', 'summary', 'memory')),
    target_id INTEGER NOT NULL,
    code BLOB NOT NULL,
    PRIMARY KEY (space_id, record, target_id)
) WITHOUT ROWID;

-- Which codes changed, so that every process can follow the others; the oldest entries are dropped.
CREATE TABLE IF NOT EXISTS vector_changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    space_id INTEGER NOT NULL,
    record TEXT NOT NULL,
    target_id INTEGER NOT NULL -- 0 stands for all of them
);

CREATE TRIGGER IF NOT EXISTS vector_codes_added AFTER INSERT ON vector_codes BEGIN
    INSERT INTO vector_changes(space_id, record, target_id) VALUES (new.space_id, new.record, new.target_id);
END;

CREATE TRIGGER IF NOT EXISTS vector_codes_changed AFTER UPDATE ON vector_codes BEGIN
    INSERT INTO vector_changes(space_id, record, target_id) VALUES (new.space_id, new.record, new.target_id);
END;

CREATE TRIGGER IF NOT EXISTS vector_codes_removed AFTER DELETE ON vector_codes BEGIN
    INSERT INTO vector_changes(space_id, record, target_id) VALUES (old.space_id, old.record, old.target_id);
END;
