"""The tools that let an agent work with files: list, read, search, and write what a person has agreed to."""

from __future__ import annotations

import asyncio
import difflib
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field

from orca.agent.file_search import matching_lines
from orca.agent.file_text import FileText, decode, decoded
from orca.agent.tools import Confirmation, Tool, ToolContext, bounded, tool
from orca.agent.workspace import Entry, Workspace
from orca.errors import ToolError

MAX_READ_BYTES = 10_000_000
"""Largest file that is read."""

MAX_SHOWN_LINES = 2_000
"""Most lines of a file in one result."""

MAX_SHOWN_CHARACTERS = 24_000
"""Most characters of a file in one result, about 6K tokens of English."""

MAX_ENTRIES = 500
"""Most names in one list."""

MAX_VISITED = 20_000
"""Most names that are looked at for one list or search."""

MAX_SEARCHED_BYTES = 50_000_000
"""Most bytes that one search reads."""

MAX_SEARCHED_FILE = 2_000_000
"""Largest file that a search looks into; larger ones are data more often than text."""

MAX_MATCHES = 100
"""Most lines that a search returns."""

MAX_MATCH_CHARACTERS = 240
"""Longest line in a search's result."""

MAX_WRITE_CHARACTERS = 1_000_000
"""Largest text that is written."""

MAX_DIFF_CHARACTERS = 8_000
"""Longest difference that a person is shown."""

MAX_DIFF_LINES = 5_000
"""Longest text whose difference is worked out: the time for it grows with the square of the lines."""

# Directories full of other people's files, which only drown what is looked for.
_SKIPPED = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})

_Path = Annotated[str, Field(description="Path from the workspace's root, with / between its parts.")]


def file_tools(workspace: str | Path, *, closed: Iterable[Path] = ()) -> list[Tool]:
    """Return ``list_files``, ``read_file``, ``search_files`` and ``write_file`` for a directory.

    Nothing outside of it can be reached, nothing hidden in it (names that begin with a dot), and nothing in the
    directories of ``closed``, which is for Orca's own home with its keys and its database. Writing asks through
    ``ToolContext.confirm`` each time and shows the difference; without anybody to ask it is refused.
    Raises ``ConfigError`` if ``workspace`` is no directory, or lies in a closed one.
    """
    files = _Files(Workspace(workspace, closed=closed))
    return [
        tool(files.list_files),
        tool(files.read_file),
        tool(files.search_files),
        # Without a limit of time, because a person may think about the question for long.
        tool(timeout_seconds=None)(files.write_file),
    ]


class _Files:
    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def list_files(
        self,
        context: ToolContext,
        path: _Path = ".",
        *,
        recursive: Annotated[
            bool, Field(description="Whether to list what is in the directories too.")
        ] = False,
    ) -> str:
        """List the files of a directory of the workspace with their sizes. Directories end in a slash."""
        parts = self._workspace.resolve(path)
        lines: list[str] = []
        left_out: set[str] = set()
        entries = self._walk(parts, context, left_out) if recursive else self._workspace.entries(parts)
        for entry in entries:
            if len(lines) == MAX_ENTRIES:
                lines.append(f"…[cut after {MAX_ENTRIES} names; list a directory inside]")
                break
            lines.append(f"{entry.path}/" if entry.directory else f"{entry.path}  {entry.size:,} bytes")
        lines += [f"…[not everything is listed: {reason}]" for reason in sorted(left_out)]
        return "\n".join(lines) or "(empty)"

    def read_file(
        self,
        path: _Path,
        first_line: Annotated[int, Field(ge=1, description="The first line to read, counted from 1.")] = 1,
        last_line: Annotated[
            int | None, Field(ge=1, description="The last line; absent: to the end.")
        ] = None,
    ) -> str:
        """Read a text file of the workspace, whole or a range of its lines. Long files come in pieces."""
        parts = self._workspace.resolve(path)
        name = "/".join(parts)
        file = decoded(self._workspace.read(parts, limit=MAX_READ_BYTES), name)
        lines = file.text.removesuffix("\n").split("\n") if file.text else []
        if not lines:
            return f"[{name}: empty]"
        if first_line > len(lines) or (last_line is not None and last_line < first_line):
            raise ToolError(
                f"{name!r} has lines 1 to {len(lines)}; there is no range {first_line} to {last_line}"
            )
        wanted = lines[first_line - 1 : last_line][:MAX_SHOWN_LINES]
        shown = _fitting(wanted)
        last = first_line + len(shown) - 1
        encoding = "" if file.encoding == "utf-8" else f", {file.encoding}"
        head = f"[{name}: lines {first_line}-{last} of {len(lines)}{encoding}]"
        if last < min(last_line or len(lines), len(lines)):
            shown.append(f"…[cut: read on with first_line={last + 1}]")
        return "\n".join([head, *shown])

    def search_files(
        self,
        context: ToolContext,
        query: Annotated[
            str, Field(min_length=1, max_length=1_000, description="What to find within a line.")
        ],
        path: Annotated[str, Field(description="The directory or file to look in.")] = ".",
        *,
        regex: Annotated[
            bool, Field(description="Whether the query is a regular expression of Python.")
        ] = False,
        ignore_case: Annotated[bool, Field(description="Whether A and a are the same.")] = True,
    ) -> str:
        """Find lines in the text files of the workspace. Each hit comes as path:line: text."""
        parts = self._workspace.resolve(path)
        left_out: set[str] = set()
        names, texts = self._texts(parts, context, left_out)
        places = matching_lines(
            texts,
            query,
            regex=regex,
            ignore_case=ignore_case,
            limit=MAX_MATCHES + 1,
            cancelled=context.cancelled,
        )
        found = []
        for index, number in places[:MAX_MATCHES]:
            line = texts[index].split("\n", number + 1)[number].strip()
            found.append(f"{names[index]}:{number + 1}: {bounded(line, MAX_MATCH_CHARACTERS)}")
        if len(places) > MAX_MATCHES:
            found.append(f"…[cut after {MAX_MATCHES} lines; search for something rarer, or in a directory]")
        found = found or [f"nothing found in {len(texts)} text files"]
        return "\n".join(
            [*found, *(f"…[not everything was searched: {reason}]" for reason in sorted(left_out))]
        )

    async def write_file(
        self,
        context: ToolContext,
        path: _Path,
        content: Annotated[str, Field(description="The whole new text of the file.")],
    ) -> str:
        """Write a text file of the workspace, new or in place of the old one. The user is shown the change first."""
        if len(content) > MAX_WRITE_CHARACTERS:
            raise ToolError(f"the text has {len(content):,} characters, of {MAX_WRITE_CHARACTERS:,} allowed")
        parts = await asyncio.to_thread(self._workspace.resolve, path)
        name = "/".join(parts)
        before = await asyncio.to_thread(self._current, parts)
        old = FileText() if before is None else decoded(before, name)
        after = old.encoded(content)
        if after == before:
            return f"{name} holds this text already; nothing was written"
        question = Confirmation(
            tool="write_file",
            arguments={"path": name, "change": _difference(name, old.text, content, new_file=before is None)},
            agent=context.agent,
            scope=context.scope,
        )
        if not await context.confirm(question):
            raise ToolError(f"the user did not allow {name!r} to be written; it is as it was")
        return await asyncio.to_thread(self._write, parts, before, after)

    def _current(self, parts: tuple[str, ...]) -> bytes | None:
        try:
            return self._workspace.read(parts, limit=MAX_READ_BYTES)
        except ToolError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise

    def _write(self, parts: tuple[str, ...], before: bytes | None, after: bytes) -> str:
        name = "/".join(parts)
        if self._current(parts) != before:
            raise ToolError(f"{name!r} was changed while the user was asked; read it again")
        self._workspace.write(parts, after)
        return f"{'created' if before is None else 'wrote'} {name}: {len(after):,} bytes"

    def _walk(self, parts: tuple[str, ...], context: ToolContext, left_out: set[str]) -> Iterator[Entry]:
        """Yield everything below a directory, near things first; add to ``left_out`` why that is not all."""
        waiting = deque([parts])
        visited = 0
        while waiting:
            here = waiting.popleft()
            try:
                entries = self._workspace.entries(here)
            except ToolError:
                if here == parts:
                    raise
                left_out.add("some directories cannot be read")
                continue
            for entry in entries:
                visited += 1
                if visited > MAX_VISITED:
                    left_out.add(f"there are more than {MAX_VISITED:,} names; look into a directory")
                    return
                if context.cancelled.is_set():
                    return
                yield entry
                name = entry.path.rpartition("/")[2]
                if entry.directory and name not in _SKIPPED:
                    waiting.append((*here, name))

    def _texts(
        self, parts: tuple[str, ...], context: ToolContext, left_out: set[str]
    ) -> tuple[list[str], list[str]]:
        """Return names and texts of the text files below; add to ``left_out`` what kept others out."""
        names: list[str] = []
        texts: list[str] = []
        left = MAX_SEARCHED_BYTES
        for entry in self._below(parts, context, left_out):
            if entry.size > MAX_SEARCHED_FILE:
                left_out.add(f"some files have more than {MAX_SEARCHED_FILE:,} bytes")
                continue
            left -= entry.size
            if left < 0:
                left_out.add(f"there are more than {MAX_SEARCHED_BYTES:,} bytes; search in a directory")
                break
            try:
                file = decode(self._workspace.read(tuple(entry.path.split("/")), limit=MAX_SEARCHED_FILE))
            except ToolError:  # the files that can be read are still searched
                left_out.add("some files cannot be read")
                continue
            if file is not None:
                names.append(entry.path)
                texts.append(file.text)
        return names, texts

    def _below(self, parts: tuple[str, ...], context: ToolContext, left_out: set[str]) -> Iterator[Entry]:
        siblings = self._workspace.entries(parts[:-1]) if parts else []
        one = next((entry for entry in siblings if entry.path == "/".join(parts)), None)
        if one is not None and not one.directory:
            yield one
            return
        yield from (entry for entry in self._walk(parts, context, left_out) if not entry.directory)


def _fitting(lines: list[str]) -> list[str]:
    """Return the first lines that fit into a result; of a first line that does not, as much as does."""
    left = MAX_SHOWN_CHARACTERS
    fitting: list[str] = []
    for line in lines:
        if len(line) > left:
            if not fitting:
                fitting.append(bounded(line, left))
            break
        fitting.append(line)
        left -= len(line) + 1
    return fitting


def _difference(name: str, old: str, new: str, *, new_file: bool) -> str:
    before, after = old.split("\n"), new.replace("\r\n", "\n").split("\n")
    if max(len(before), len(after)) > MAX_DIFF_LINES:
        return f"{name}: {len(before):,} lines become {len(after):,}; too many to show what changes"
    source = "/dev/null" if new_file else f"a/{name}"
    lines = difflib.unified_diff([] if new_file else before, after, source, f"b/{name}", lineterm="")
    return bounded("\n".join(lines), MAX_DIFF_CHARACTERS)
