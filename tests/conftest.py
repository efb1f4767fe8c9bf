"""What holds for every test: random inputs have no deadline, because machines are busy."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("orca", deadline=None)
settings.load_profile("orca")
