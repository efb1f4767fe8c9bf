"""A bilingual sample conversation, written by hand, and questions whose answers it holds."""
