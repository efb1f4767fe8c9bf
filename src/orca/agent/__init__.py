"""Agent: see docs/architecture.md."""
