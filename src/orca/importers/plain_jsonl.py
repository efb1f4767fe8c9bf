"""Plain JSON Lines: the format of choice for imports, and what older programs wrote. See ``orca.text.plain_log``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orca.text.plain_log import LoggedMessage, read_record


class PlainJSONL:
    """One message a line, with ``role`` and ``content``."""

    name = "plain"

    def recognises(self, records: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the first lines of a file look like this format."""
        return any("role" in record for record in records)

    def read(self, record: Mapping[str, Any]) -> list[LoggedMessage]:
        """Return the messages of a line's object. Raises ``ValueError`` with the reason in words."""
        return [read_record(record)]
