"""What turns texts into vectors: the model that ships with Orca, any OpenAI-compatible API, and what wraps them."""
