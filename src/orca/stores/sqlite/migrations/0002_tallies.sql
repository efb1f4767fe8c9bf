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

INSERT INTO tallies(kind, user_id, part, rows)
SELECT 'sessions', user_id, '', count(*) FROM sessions GROUP BY 2, 3
UNION ALL SELECT 'messages', user_id, '', count(*) FROM main_messages GROUP BY 2, 3
UNION ALL SELECT 'days', user_id, coalesce(substr(timestamp, 1, 10), ''), count(*) FROM main_messages GROUP BY 2, 3
UNION ALL SELECT 'session_messages', user_id, session_id, count(*) FROM main_messages GROUP BY 2, 3
UNION ALL SELECT 'summaries', user_id, '', count(*) FROM short_term_memories GROUP BY 2, 3
UNION ALL SELECT 'session_summaries', user_id, session_id, count(*) FROM short_term_memories GROUP BY 2, 3
UNION ALL SELECT 'memories', user_id, '', count(*) FROM long_term_memories GROUP BY 2, 3
UNION ALL SELECT 'subagent_runs', user_id, '', count(*) FROM subagent_runs GROUP BY 2, 3
UNION ALL SELECT 'subagent_messages', user_id, '', count(*) FROM subagent_messages GROUP BY 2, 3
UNION ALL SELECT 'jobs', user_id, '', count(*) FROM jobs GROUP BY 2, 3
UNION ALL SELECT 'reasons', user_id, kind || ':' || coalesce(last_error, ''), count(*) FROM jobs GROUP BY 2, 3;

-- A session's `updated_at` is when somebody last spoke; renaming and ending used to move it, too.
UPDATE sessions SET updated_at = coalesce(
    (SELECT max(timestamp) FROM main_messages WHERE user_id = sessions.user_id AND session_id = sessions.id), updated_at);
