"""Rules that read facts about the user from what the user says, one module per language."""
