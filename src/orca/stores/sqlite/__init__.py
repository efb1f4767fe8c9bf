"""Sqlite: see docs/architecture.md."""
