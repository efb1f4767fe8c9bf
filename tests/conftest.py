"""What holds for every test: random inputs have no deadline, and Orca's log is left as it was found."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

settings.register_profile("orca", deadline=None)
settings.load_profile("orca")


@pytest.fixture(autouse=True)
def _log_as_it_was() -> Iterator[None]:
    """Take back the handler and level that a command run inside the test's process leaves behind."""
    log = logging.getLogger("orca")
    handlers, level = list(log.handlers), log.level
    yield
    log.handlers[:] = handlers
    log.setLevel(level)
