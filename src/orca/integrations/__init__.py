"""Integrations: see docs/architecture.md."""
