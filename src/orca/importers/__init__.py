"""Importers: see docs/architecture.md."""
