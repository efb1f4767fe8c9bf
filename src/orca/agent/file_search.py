"""Finding lines in texts, by text or by regular expression, within a time."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

from orca.agent import regex_worker
from orca.errors import ToolError

REGEX_SECONDS = 10.0
"""How long a regular expression may look; an honest one goes through the files it is given in less than a second."""

_POLL_SECONDS = 0.02
_PLAIN = re.compile(r"[\w\s]*")


def matching_lines(
    texts: Sequence[str],
    query: str,
    *,
    regex: bool,
    ignore_case: bool,
    limit: int,
    cancelled: threading.Event,
) -> list[tuple[int, int]]:
    """Return the first ``limit`` places as ``(text, line)``, both counted from 0.

    Raises ``ToolError`` for an expression that is none, or that takes too long.
    """
    if not regex or _PLAIN.fullmatch(query):
        return _by_text(texts, query, ignore_case=ignore_case, limit=limit)
    try:
        re.compile(query)
    except (re.error, OverflowError, RecursionError) as error:
        raise ToolError(f"{query!r} is not a regular expression: {error}") from error
    order = {"pattern": query, "ignore_case": ignore_case, "limit": limit}
    return _by_regex([order, *texts], cancelled)


def _by_text(texts: Iterable[str], query: str, *, ignore_case: bool, limit: int) -> list[tuple[int, int]]:
    wanted = query.casefold() if ignore_case else query
    found: list[tuple[int, int]] = []
    for index, text in enumerate(texts):
        for number, line in enumerate(text.split("\n")):
            if wanted in (line.casefold() if ignore_case else line):
                found.append((index, number))
                if len(found) >= limit:
                    return found
    return found


def _by_regex(lines: Sequence[object], cancelled: threading.Event) -> list[tuple[int, int]]:
    if not sys.executable:
        raise ToolError("regular expressions cannot be used here; search for a text instead")
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as answer:
        for line in lines:
            given.write(json.dumps(line).encode("ascii") + b"\n")
        given.seek(0)
        return _answer(given, answer, cancelled)


def _answer(given: BinaryIO, answer: BinaryIO, cancelled: threading.Event) -> list[tuple[int, int]]:
    command = [sys.executable, "-I", "-S", str(Path(regex_worker.__file__))]
    with subprocess.Popen(  # noqa: S603 - our own file, our own interpreter; what a model wrote goes in as data
        command, stdin=given, stdout=answer, stderr=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + REGEX_SECONDS
        try:
            while process.poll() is None:
                if cancelled.wait(_POLL_SECONDS):
                    raise ToolError("the search was stopped")
                if time.monotonic() > deadline:
                    raise ToolError(
                        f"the regular expression took longer than {REGEX_SECONDS:g} seconds; use a simpler one"
                    )
        finally:
            process.kill()
    if process.returncode != 0:
        raise ToolError(f"the search for the regular expression failed (exit code {process.returncode})")
    answer.seek(0)
    return [(int(index), int(number)) for index, number in json.load(answer)]
