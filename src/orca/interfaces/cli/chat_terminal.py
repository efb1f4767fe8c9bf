"""The terminal during a turn: what is typed meanwhile is kept for the next prompt and not drawn into the reply."""

from __future__ import annotations

import os
import sys
from typing import Any

try:
    import termios
except ImportError:  # not a POSIX system: what is typed meanwhile is shown
    termios = None  # type: ignore[assignment]


def is_terminal() -> bool:
    """Whether a person sits at a terminal that can move its cursor."""
    # Rich takes as long to import as --help may take; this module is imported when a chat starts.
    from rich.console import Console

    return sys.stdin.isatty() and sys.stdout.isatty() and not Console().is_dumb_terminal


class QuietKeyboard:
    """Turns the echo of keys off and on again. Ctrl-C still interrupts."""

    def __init__(self) -> None:
        self._before: list[Any] | None = None

    def start(self) -> None:
        """Turn the echo off."""
        if termios is None or self._before is not None or not _has_descriptor():
            return
        before = termios.tcgetattr(sys.stdin)
        quiet = list(before)
        quiet[3] &= ~termios.ECHO
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, quiet)
        self._before = before

    def stop(self) -> None:
        """Put everything back."""
        if self._before is not None:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)
            self._before = None


def forget_typed() -> None:
    """Drop what was typed before a question was asked: it cannot have been meant as the answer."""
    if termios is not None and _has_descriptor():
        termios.tcflush(sys.stdin, termios.TCIFLUSH)


def _has_descriptor() -> bool:
    try:
        return os.isatty(sys.stdin.fileno())
    except (OSError, ValueError):  # a stream of a test
        return False
