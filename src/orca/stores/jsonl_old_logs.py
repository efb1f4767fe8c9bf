"""Plain logs that lay in the directory before: read where they are, with ids that last.

Their lines carry no ids, so the ids are kept in a file beside them, one line for each line of a log. The logs
themselves are never written, except to blank out a line that is deleted.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from orca.errors import ConfigError
from orca.stores.jsonl_files import (
    SUFFIX,
    GrowingFile,
    append_durably,
    is_own_name,
    replace_durably,
)
from orca.stores.jsonl_lines import message_line
from orca.text.json_lines import parse_line
from orca.text.normalize import clean
from orca.text.plain_log import read_record
from orca.text.times import optional_from_text, optional_to_text
from orca.types import Message, Scope

log = logging.getLogger("orca")

INDEX_NAME = "old-logs.ids"

Place = tuple[int, int, str | None]
"""The id, position and time of a line."""


@dataclass(slots=True)
class _Old:
    file: GrowingFile
    lines: int = 0


class OldLogs:
    """The plain logs of one directory. They belong to the default user and the main agent."""

    def __init__(self, directory: Path) -> None:
        """Look at ``directory``, which need not exist."""
        self._directory = directory
        self._index = GrowingFile(directory / INDEX_NAME)
        self._ids: dict[tuple[str, int], Place] = {}
        self._files: dict[str, _Old] = {}
        self._found: dict[tuple[str, int], Message] = {}
        self._changed = False
        self._waiting: list[tuple[str, int]] = []
        self.messages: dict[int, Message] = {}
        self.last_id = 0
        self.last_positions: dict[str, int] = {}

    def refresh(self, names: Iterable[str]) -> bool:
        """Read what is new in the logs among ``names``; return whether lines wait for their ids. Raises ``OSError``."""
        logs = {name for name in names if name.endswith(SUFFIX) and not is_own_name(name) and name[0] != "."}
        for name in self._files.keys() - logs:
            self._forget(name)
        for name in sorted(logs):
            self._read(name)
        if self._index.path.exists():
            self._read_index()
        self._join()
        return bool(self._waiting)

    def number(self, *, after_id: int, after_position: Callable[[Scope], int], durable: bool) -> None:
        """Give ids and positions to the lines that wait. Raises ``OSError``."""
        numbered: dict[tuple[str, int], Place] = {}
        last_id = max(after_id, self.last_id)
        positions: dict[str, int] = {}
        for place in self._waiting:
            session = self._found[place].session
            scope = Scope(session=session)
            last_id += 1
            before = positions.get(session)
            if before is None:
                before = max(after_position(scope), self.last_positions.get(session, 0))
            positions[session] = before + 1
            numbered[place] = (last_id, before + 1, optional_to_text(self._found[place].timestamp))
        if durable:
            lines = [
                json.dumps(
                    {"file": name, "line": line, "id": number, "position": position, "timestamp": time}
                )
                + "\n"
                for (name, line), (number, position, time) in numbered.items()
            ]
            append_durably(self._index.path, "".join(lines).encode(), at=self._index.end)
            self._read_index()
        self._ids.update(numbered)
        self._changed = True
        self.last_id = max(self.last_id, last_id)
        self._join()

    def remove(self, ids: set[int]) -> None:
        """Blank out the lines of messages. Raises ``OSError``."""
        places = [
            place for place, (number, *_) in self._ids.items() if number in ids and place in self._found
        ]
        for name in {name for name, _ in places}:
            path = self._directory / name
            lines = path.read_bytes().split(b"\n")
            for where, line in places:
                if where == name and line <= len(lines):
                    lines[line - 1] = b""
            replace_durably(path, b"\n".join(lines))
            self._forget(name)
            self._read(name)
        self._join()

    def _forget(self, name: str) -> None:
        self._changed = True
        self._files.pop(name, None)
        for place in [place for place in self._found if place[0] == name]:
            del self._found[place]

    def _read(self, name: str) -> None:
        path = self._directory / name
        old = self._files.setdefault(name, _Old(GrowingFile(path)))
        restarted, lines = old.file.changes()
        if restarted and old.lines:
            self._forget(name)
            old.lines = 0
            self._files[name] = old
        if not lines:
            return
        self._changed = True
        # Lines without a time get the file's when they are first read; it is kept with their ids.
        written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        for line in lines:
            old.lines += 1
            message = _message(line, path, old.lines, written)
            if message is not None:
                self._found[name, old.lines] = message

    def _read_index(self) -> None:
        _, lines = self._index.changes()
        self._changed = self._changed or bool(lines)
        for line in lines:
            fields = json.loads(line)
            self._ids[fields["file"], fields["line"]] = (
                fields["id"],
                fields["position"],
                fields["timestamp"],
            )
            self.last_id = max(self.last_id, fields["id"])

    def _join(self) -> None:
        """Give the lines their ids, where anything has changed since the last time."""
        if not self._changed:
            return
        self._changed = False
        self._waiting = [place for place in self._found if place not in self._ids]
        self.messages = {}
        for place, message in self._found.items():
            if place in self._ids:
                number, position, time = self._ids[place]
                self.messages[number] = replace(
                    message, id=number, position=position, timestamp=optional_from_text(time)
                )
                session = message.session
                self.last_positions[session] = max(self.last_positions.get(session, 0), position)


def _message(line: bytes, path: Path, number: int, written: datetime) -> Message | None:
    try:
        record = parse_line(line)
        if record is None:
            return None
        logged = read_record(record)
        message = replace(
            logged.message,
            session=clean(logged.session or path.stem),
            timestamp=logged.message.timestamp or written,
            position=1,
            id=0,
            origin="import",
        )
        # Written and read once, so that it holds what a stored message would: no lone surrogate, no odd value.
        stored = json.loads(message_line(message))
        return replace(message, content=stored["content"], metadata=stored.get("metadata", {}))
    except (ValueError, ConfigError) as error:
        log.warning("%s, line %d is left out: %s", path, number, error)
        return None
