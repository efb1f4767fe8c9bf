"""Text as Orca sees it: cleaned, reduced to plain text, split into index terms. Pure functions only."""
