"""Embedders: see docs/architecture.md."""
