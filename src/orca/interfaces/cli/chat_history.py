"""What was typed before: a file of JSON lines that only its owner can read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit.history import History

from orca.interfaces.cli.i18n import t
from orca.interfaces.cli.output import note

KEPT = 1_000
"""Inputs that are kept; the file is cut to them when it has grown to twice as many."""


class PrivateHistory(History):
    """Inputs, one a line. An input that begins with a blank is not kept, as in shells."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def load_history_strings(self) -> Iterable[str]:
        """Yield what was typed, newest first."""
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return
        except (OSError, UnicodeDecodeError) as error:
            note(t("{path} cannot be read: {reason}", path=self._path, reason=error))
            return
        for line in reversed(lines[-KEPT:]):
            try:
                text = json.loads(line)
            except ValueError:  # a line that a crash cut short
                continue
            if isinstance(text, str):
                yield text
        if len(lines) > 2 * KEPT:
            self._write("\n".join(lines[-KEPT:]) + "\n", os.O_TRUNC)

    def append_string(self, string: str) -> None:
        """Keep an input, unless it begins with a blank."""
        if not string[:1].isspace():
            super().append_string(string)

    def store_string(self, string: str) -> None:
        """Write an input to the file."""
        self._write(json.dumps(string, ensure_ascii=False) + "\n", os.O_APPEND)

    def _write(self, text: str, how: int) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | how, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                if os.name == "posix":
                    os.fchmod(descriptor, 0o600)  # a file from elsewhere may be open to others
                file.write(text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            note(t("{path} cannot be written: {reason}", path=self._path, reason=error.strerror))
