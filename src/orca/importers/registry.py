"""The one list of log formats, and how a file's format is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from orca.errors import ConfigError
from orca.importers.lines import read_lines
from orca.importers.orca_log import OrcaLog
from orca.importers.plain_jsonl import PlainJSONL
from orca.text.plain_log import LoggedMessage

AUTO = "auto"
SAMPLE_LINES = 20
"""A format is recognised by this many lines from the beginning of a file."""


class LogFormat(Protocol):
    """What one maker's log lines mean. A new format is one class here and one entry in ``FORMATS``."""

    @property
    def name(self) -> str:
        """The word a user names the format by."""
        ...

    def recognises(self, records: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the first objects of a file look like this format."""
        ...

    def read(self, record: Mapping[str, Any]) -> list[LoggedMessage]:
        """Return the messages of one line. Raises ``ValueError`` with the reason in words."""
        ...


FORMATS: tuple[LogFormat, ...] = (OrcaLog(), PlainJSONL())
"""Every format, the most particular one first."""


def format_named(name: str) -> LogFormat:
    """Return the format with this name. Raises ``ConfigError`` that lists the names."""
    for candidate in FORMATS:
        if candidate.name == name:
            return candidate
    names = ", ".join([AUTO, *(candidate.name for candidate in FORMATS)])
    raise ConfigError(f"there is no log format {name!r}; use one of {names}")


def detect(path: Path) -> LogFormat:
    """Return the format of a file; plain, whose reader then says what is wrong, where none is recognised.

    Raises ``OSError``.
    """
    records = [line.record for line in islice(read_lines(path), SAMPLE_LINES) if line.record is not None]
    for candidate in FORMATS:
        if candidate.recognises(records):
            return candidate
    return PlainJSONL()
