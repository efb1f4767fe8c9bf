"""Interfaces: see docs/architecture.md."""
