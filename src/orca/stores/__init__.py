"""Where everything is kept: one SQLite file, or plain JSONL for messages alone."""
