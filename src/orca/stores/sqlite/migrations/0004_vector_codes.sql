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
