"""The agent: turns of a conversation over memory, with tools and sub-agents."""
