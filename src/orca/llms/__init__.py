"""Llms: see docs/architecture.md."""
