"""Stores: see docs/architecture.md."""
