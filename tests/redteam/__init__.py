"""Stored text that tries to become more than text."""
