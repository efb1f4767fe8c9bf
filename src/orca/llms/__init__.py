"""Chat models over any OpenAI-compatible API, and the rules that serve where there is no model."""
