"""The files that ``JSONLStore`` writes: plain lines with a scope, ids and a first line that names the scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from orca.text.plain_log import LoggedMessage, read_record

_HEAD = "orca_log"
_IDS = frozenset({"id", "position", "user", "agent", "session"})


class OrcaLog:
    """One message a line, written by Orca itself while there was no database."""

    name = "orca"

    def recognises(self, records: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the first lines of a file look like this format."""
        return bool(records) and all(_HEAD in record or record.keys() >= _IDS for record in records)

    def read(self, record: Mapping[str, Any]) -> list[LoggedMessage]:
        """Return the message of a line, none for the first line. Raises ``ValueError`` with the reason in words."""
        if _HEAD in record:
            return []
        logged = read_record(record)
        key = record.get("dedupe_key")
        message = replace(
            logged.message,
            # A message that went back to the database already has the same key there.
            dedupe_key=key if isinstance(key, str) else None,
            msg_type=record.get("msg_type", "normal"),
            user=str(record.get("user", logged.message.user)),
            agent=logged.agent or logged.message.agent,
        )
        return [replace(logged, message=message, agent=None)]
