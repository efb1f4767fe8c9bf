"""Bringing logs into a memory: each line once, whatever is imported again, and no bad line stops another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from orca.errors import ConfigError, NotFoundError
from orca.health import ImportReport
from orca.importers.export_file import export_rows, is_export
from orca.importers.orca_log import OrcaLog
from orca.importers.reading import (
    Entry,
    Tally,
    default_session,
    find_files,
    first_session,
    in_scope,
    is_transcript,
    read_entries,
    sizes,
)
from orca.importers.registry import AUTO, LogFormat, detect, format_named
from orca.importers.target import ImportTarget
from orca.importers.transcripts import store_transcripts
from orca.types import Message, Origin, Scope

BATCH_MESSAGES = 500
"""Messages of one transaction: a commit waits for the disk, so a commit for every line would be slow."""

Progress = Callable[[int, int], object]
"""Gets the bytes read so far and the bytes there are."""


def import_files(
    paths: Iterable[str | Path],
    *,
    memory: ImportTarget,
    scope: Scope,
    format: str = AUTO,  # noqa: A002 - the user's word, as on the command line
    trusted: bool = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Import logs, folders of logs and exports.

    What a log says is found and quoted like any message, but nobody vouches for it: long-term memories are made
    of it only where it is ``trusted``, now or by importing it again so.

    Importing again stores only what is new: also after an interruption, with lines added, or from a copy under
    another name. A line's session is the one it names, else the scope's where that is not the default one,
    else one named by the file. Transcripts in a folder ``subagents`` beside a log become runs of its session.

    The report's errors name file, line and reason; every other line is stored. Raises ``ConfigError`` for an
    unknown format and ``StoreError`` when the store fails; what was stored by then stays.
    """
    fixed = None if format == AUTO else format_named(format)
    return _Import(memory, scope, fixed=fixed, keep_owner=False, trusted=trusted).run(paths, progress)


def migrate_directory(
    directory: str | Path,
    *,
    memory: ImportTarget,
    scope: Scope | None = None,
    progress: Progress | None = None,
) -> ImportReport:
    """Move the JSONL sessions of a directory into a memory; the files stay as they are.

    Sessions are named as in the files, and lines that Orca wrote itself keep their user and agent; ``scope``
    gives user and agent of all others. They are the memory's own earlier records, and as trusted as they were.
    May be repeated and interrupted, like ``import_files``. Raises ``NotFoundError`` when there is no such directory.
    """
    if not Path(directory).is_dir():
        raise NotFoundError(f"there is no folder {directory}")
    return _Import(memory, scope or Scope(), fixed=None, keep_owner=True, trusted=True).run(
        [directory], progress
    )


class _Import:
    """One import: its target, and what it has done so far."""

    def __init__(
        self,
        memory: ImportTarget,
        scope: Scope,
        *,
        fixed: LogFormat | None,
        keep_owner: bool,
        trusted: bool,
    ) -> None:
        self._memory = memory
        self._scope = scope
        self._fixed = fixed
        self._keep_owner = keep_owner
        self._trusted = trusted
        self._tally = Tally()
        self._newest: dict[Scope, int] = {}
        self._session_of: dict[Path, str] = {}

    def run(self, paths: Iterable[str | Path], progress: Progress | None) -> ImportReport:
        files = find_files(paths, self._tally)
        size_of = sizes(files)
        total = sum(size_of.values())
        before = 0
        for path in files:
            advance = partial(_advance, progress, before, total)
            try:
                self._import_file(path, advance)
            except OSError as error:
                self._tally.report(path, None, f"the file cannot be read: {error.strerror or error}")
            before += size_of[path]
            advance(size_of[path])
        return ImportReport(
            imported=self._tally.imported,
            skipped=self._tally.skipped,
            errors=tuple(self._tally.errors),
            sessions=len(self._tally.sessions),
        )

    def _import_file(self, path: Path, advance: Callable[[int], None]) -> None:
        if self._fixed is None and is_export(path):
            self._import_export(path)
            return
        log_format = self._fixed or detect(path)
        report = partial(self._tally.report, path)
        entries = read_entries(path, log_format, report)
        if is_transcript(path):
            self._import_transcript(path, list(entries))
            return
        session = default_session(path, log_format, memory=self._memory, scope=self._scope)
        self._session_of[path.absolute()] = first_session(path, log_format) or session
        for batch in _batches(entries):
            self._store(path, log_format, batch, session)
            advance(batch[-1].end)

    def _store(self, path: Path, log_format: LogFormat, batch: list[Entry], session: str) -> None:
        """Store a batch, each session's share of it in one transaction."""
        shares: dict[Scope, list[Entry]] = {}
        for entry in batch:
            scope = replace(self._scope, session=entry.logged.session or session)
            if self._keep_owner and isinstance(log_format, OrcaLog):
                message = entry.logged.message
                scope = replace(scope, user=message.user, agent=message.agent)
            shares.setdefault(scope, []).append(entry)
        for scope, entries in shares.items():
            try:
                self._observe(scope, entries)
            except ConfigError:
                # One message cannot be kept and holds up the others, so each goes by itself.
                for entry in entries:
                    try:
                        self._observe(scope, [entry])
                    except ConfigError as error:
                        self._tally.report(path, entry.line, str(error))

    def _observe(self, scope: Scope, entries: list[Entry]) -> None:
        newest = self._newest.get(scope)
        if newest is None:
            newest = _last_id(self._memory.messages(scope=scope, limit=1))
        origin: Origin | None = None if self._trusted else "import"
        messages = [in_scope(entry, scope, origin=origin) for entry in entries]
        stored = self._memory.observe_many(scope=scope, messages=messages)
        doubted = [message.id for message in stored if message.id is not None and message.origin == "import"]
        if self._trusted and doubted:
            self._memory.trust(scope=scope, message_ids=doubted)
        new = sum(message.id is not None and message.id > newest for message in stored)
        self._newest[scope] = max(newest, _last_id(stored))
        self._tally.imported += new
        self._tally.skipped += len(entries) - new
        self._tally.sessions.add(scope)

    def _import_transcript(self, path: Path, entries: list[Entry]) -> None:
        if not entries:
            return
        session = self._main_session(path)
        if session is None and any(entry.logged.session is None for entry in entries):
            self._tally.report(
                path,
                None,
                "this sub-agent's transcript names no session and no log lies beside its folder; "
                "import it with the session it belongs to",
            )
            return
        new, known = store_transcripts(path, entries, session or "", memory=self._memory, scope=self._scope)
        self._tally.imported += new
        self._tally.skipped += known

    def _main_session(self, transcript: Path) -> str | None:
        """Return the session of the log that a transcript belongs to, or None where that is not to be seen.

        The log lies beside the folder, or bears the name of the folder around it.
        """
        folder = transcript.absolute().parent.parent
        named = folder.with_name(f"{folder.name}.jsonl")
        beside = [named] if named.is_file() else sorted(folder.glob("*.jsonl"))
        if len(beside) == 1:
            log = beside[0]
            if log not in self._session_of:
                log_format = self._fixed or detect(log)
                self._session_of[log] = first_session(log, log_format) or default_session(
                    log, log_format, memory=self._memory, scope=self._scope
                )
            return self._session_of[log]
        return self._scope.session if self._scope.session != Scope().session else None

    def _import_export(self, path: Path) -> None:
        offered = 0

        def counted() -> Iterator[tuple[str, Mapping[str, Any]]]:
            nonlocal offered
            for row in export_rows(path, partial(self._tally.report, path)):
                offered += 1
                if row[0] == "sessions":
                    user, session = row[1].get("user_id"), row[1].get("id")
                    self._tally.sessions.add(Scope(user=str(user), session=str(session)))
                yield row

        stored = sum(self._memory.import_rows(counted()).values())
        self._tally.imported += stored
        self._tally.skipped += offered - stored


def _batches(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    batch: list[Entry] = []
    for entry in entries:
        batch.append(entry)
        if len(batch) == BATCH_MESSAGES:
            yield batch
            batch = []
    if batch:
        yield batch


def _last_id(messages: Iterable[Message]) -> int:
    return max((message.id for message in messages if message.id is not None), default=0)


def _advance(progress: Progress | None, before: int, total: int, done: int) -> None:
    if progress is not None:
        progress(before + done, total)
