"""Chinese help texts."""

CHINESE: dict[str, str] = {}
