"""From files to messages: which files there are, and what each of their lines says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from orca.errors import ConfigError
from orca.importers.identity import Keys, name_session
from orca.importers.lines import read_lines
from orca.importers.registry import LogFormat
from orca.importers.target import ImportTarget
from orca.text.plain_log import LoggedMessage
from orca.types import Message, Origin, Scope

SUFFIXES = frozenset({".jsonl", ".ndjson"})
"""What is taken from a folder; a file that is named itself may be called anything."""

SUBAGENTS = "subagents"
"""A folder of this name beside a log holds the transcripts of its sub-agents."""

NAMING_MESSAGES = 200
"""A log without session names is compared with earlier imports by this many of its first messages."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A message of a file: the line it stands on, the key it is known by, and how far the file is read."""

    line: int
    key: str
    logged: LoggedMessage
    end: int


@dataclass(slots=True)
class Tally:
    """What an import has done so far."""

    imported: int = 0
    skipped: int = 0
    errors: list[dict[str, str | int | None]] = field(default_factory=list)
    sessions: set[Scope] = field(default_factory=set)

    def report(self, path: Path, line: int | None, reason: str) -> None:
        """Remember a line, or with None a whole file, that could not be taken."""
        self.errors.append({"file": str(path), "line": line, "reason": reason})


def find_files(paths: Iterable[str | Path], tally: Tally) -> list[Path]:
    """Return the files to read, those inside folders too: logs first, then the transcripts of their sub-agents."""
    found: dict[Path, None] = {}
    for given in map(Path, paths):
        if given.is_dir():
            inside = [
                path
                for path in sorted(given.rglob("*"))
                if path.suffix.lower() in SUFFIXES and path.name[0] != "." and path.is_file()
            ]
            if not inside:
                tally.report(given, None, f"the folder holds no {' or '.join(sorted(SUFFIXES))} file")
            found.update(dict.fromkeys(inside))
        else:
            found[given] = None
    return sorted(found, key=is_transcript)


def is_transcript(path: Path) -> bool:
    """Whether a file is a sub-agent's transcript, by the folder it lies in."""
    return path.absolute().parent.name == SUBAGENTS


def read_entries(path: Path, log_format: LogFormat, report: Callable[[int, str], None]) -> Iterator[Entry]:
    """Yield the messages of a file; ``report`` gets number and reason of each line that has none.

    Raises ``OSError``.
    """
    keys = Keys()
    for line in read_lines(path):
        if line.record is None:
            report(line.number, line.reason or "")
            continue
        try:
            for logged in log_format.read(line.record):
                key = logged.message.dedupe_key or keys.key(logged.message, logged.session)
                yield Entry(line.number, key, logged, line.end)
        except (ValueError, ConfigError) as error:
            report(line.number, str(error))


def default_session(path: Path, log_format: LogFormat, *, memory: ImportTarget, scope: Scope) -> str:
    """Return the session of those lines of a log that name none.

    It is the scope's where that was given, else one named by the file. Raises ``OSError``.
    """
    if scope.session != Scope().session:
        return scope.session
    nameless = (
        entry
        for entry in read_entries(path, log_format, lambda _line, _reason: None)
        if entry.logged.session is None
    )
    first = list(islice(nameless, NAMING_MESSAGES))
    if not first:
        return path.stem
    return name_session(
        path, [entry.key for entry in first], first[0].logged.message, memory=memory, scope=scope
    )


def first_session(path: Path, log_format: LogFormat) -> str | None:
    """Return the first session that a line of the log names, or None. Raises ``OSError``."""
    entries = read_entries(path, log_format, lambda _line, _reason: None)
    return next((entry.logged.session for entry in entries if entry.logged.session is not None), None)


def in_scope(entry: Entry, scope: Scope, *, origin: Origin | None) -> Message:
    """Return an entry's message as it is stored in ``scope``; without an ``origin`` its role speaks for it."""
    message = entry.logged.message
    return Message(
        role=message.role,
        content=message.content,
        user=scope.user,
        session=scope.session,
        agent=scope.agent,
        name=message.name,
        tool_calls=message.tool_calls,
        tool_call_id=message.tool_call_id,
        msg_type=message.msg_type,
        timestamp=message.timestamp,
        metadata=message.metadata,
        reasoning=message.reasoning,
        origin=origin,
        dedupe_key=entry.key,
    )


def sizes(paths: Sequence[Path]) -> dict[Path, int]:
    """Return the sizes of files in bytes, 0 for one that cannot be looked at."""
    found = {}
    for path in paths:
        try:
            found[path] = path.stat().st_size
        except OSError:
            found[path] = 0  # reading it reports why
    return found
