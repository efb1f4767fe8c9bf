"""A pseudo-terminal with ``orca`` in it: type, and wait for what the screen says."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from typing import Self

ORCA = [sys.executable, "-c", "from orca.interfaces.cli.main import main; main()"]

PATIENCE = 50.0
"""Longest wait for anything, on a machine that is busy with other tests."""

_CODES = re.compile(r"\x1b\][^\x07]*\x07|\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[@-Z\\-_=>()][0-9A-B]?")


def _take_terminal() -> None:
    """Make the terminal the child's own, so that Ctrl-C reaches it."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Terminal:
    """Runs ``orca`` with words; everything it writes is kept. It is killed at the end if it still runs."""

    def __init__(
        self, words: Sequence[str], env: Mapping[str, str], *, columns: int = 80, lines: int = 24
    ) -> None:
        self._screen, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.process = subprocess.Popen(
            [*ORCA, *words], stdin=inner, stdout=inner, stderr=inner, env=dict(env), start_new_session=True,
            preexec_fn=_take_terminal,  # noqa: PLW1509 - a system call and nothing else
        )  # fmt: skip
        os.close(inner)
        self._bytes = b""
        self._seen = 0

    @property
    def raw(self) -> str:
        """Everything written so far, codes and all."""
        return self._bytes.decode("utf-8", "replace")

    @property
    def text(self) -> str:
        """Everything written so far, without the codes that move and colour."""
        return _CODES.sub("", self.raw)

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._screen, text.encode())

    def wait_for(self, pattern: str) -> str:
        """Wait until ``pattern`` was written after what was waited for last; return what came up to it."""
        until = time.monotonic() + PATIENCE  # for the next thing to come
        while True:
            new = self.text[self._seen :]
            if match := re.search(pattern, new):
                self._seen += match.end()
                return new[: match.end()]
            if not self._read(until):
                raise AssertionError(f"no {pattern!r} in:\n{new}")

    def end(self) -> int:
        """Wait until the program ends; return its exit code."""
        until = time.monotonic() + PATIENCE
        while self._read(until):
            pass
        return self.process.wait(timeout=PATIENCE)

    def _read(self, until: float) -> bool:
        ready, _, _ = select.select([self._screen], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return False
        try:
            some = os.read(self._screen, 65536)
        except OSError:  # the other end is closed
            return False
        if b"\x1b[6n" in some:  # where is the cursor?
            os.write(self._screen, b"\x1b[1;1R")
        self._bytes += some
        return bool(some)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(timeout=PATIENCE)
        os.close(self._screen)
