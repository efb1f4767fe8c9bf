"""Chinese messages."""

CHINESE: dict[str, str] = {}
