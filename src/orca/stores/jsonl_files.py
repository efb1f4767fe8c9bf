"""Files for ``JSONLStore``: names that any file system takes, durable writes, one writer at a time."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from orca.errors import StoreUnavailableError
from orca.types import Scope

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

SUFFIX = ".jsonl"
LOCK_NAME = ".lock"
_OWN_NAME = re.compile(r"[a-z0-9_-]{0,40}\.[0-9a-f]{32}\.jsonl")
_UNSAFE = re.compile(r"[^a-z0-9_-]+")


def file_name(scope: Scope) -> str:
    """Return the file's name for a scope: a readable beginning, and a digest that tells every id from every other.

    It holds lower-case ASCII only and has a fixed length at most, so that ids may be paths, device names, of any
    length or differ by case alone. The ids themselves stand inside the file.
    """
    ids = json.dumps([scope.user, scope.agent, scope.session]).encode()
    readable = _UNSAFE.sub("-", scope.session[:200].lower()).strip("-")[:40].strip("-")
    return f"s-{readable}"[:40] + f".{hashlib.blake2b(ids, digest_size=16).hexdigest()}{SUFFIX}"


def is_own_name(name: str) -> bool:
    """Whether ``file_name`` could have made this name."""
    return _OWN_NAME.fullmatch(name) is not None


@contextlib.contextmanager
def available(path: Path) -> Iterator[None]:
    """Turn the system's errors of the block into ``StoreUnavailableError`` that names the file."""
    try:
        yield
    except OSError as error:
        raise StoreUnavailableError(
            f"{path}: {error.strerror or error}; check that the disk has room and the folder may be written"
        ) from error


class DirectoryLock:
    """Lets one thread of one process write to a directory at a time. The same thread may enter again."""

    def __init__(self, directory: Path) -> None:
        """Guard ``directory``, which is made on first use."""
        self._directory = directory
        self._thread_lock = threading.RLock()
        self._depth = 0

    def threads(self) -> contextlib.AbstractContextManager[bool]:
        """Keep the other threads of this process out, for reading what one of them may be changing in memory."""
        return self._thread_lock

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        """Keep every other writer out of the directory for a block. Raises ``OSError``."""
        with self._thread_lock:
            if self._depth:
                yield
                return
            self._directory.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._directory / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                _lock(descriptor)
                self._depth = 1
                yield
            finally:
                self._depth = 0
                os.close(descriptor)  # closing releases the lock


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def append_durably(path: Path, data: bytes, *, at: int) -> None:
    """Write ``data`` at offset ``at``, where the last complete line ends, cutting off what a crash left behind it.

    On return the data survive a power cut. When the disk refuses, the file is as long as before. Raises ``OSError``.
    """
    new = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    try:
        os.ftruncate(descriptor, at)
        os.lseek(descriptor, at, os.SEEK_SET)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, at)
            raise
    finally:
        os.close(descriptor)
    if new:
        sync_directory(path.parent)


def replace_durably(path: Path, data: bytes) -> None:
    """Put ``data`` in the place of a file at once: whoever reads sees the old text or the new. Raises ``OSError``."""
    partial = path.with_name(f".{path.name[:80]}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make a new or renamed entry of a directory survive a power cut, where the system offers that."""
    if sys.platform == "win32":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class GrowingFile:
    """Reads a file that other processes append to: each call gives the complete lines that are new."""

    def __init__(self, path: Path) -> None:
        """Begin before the first line of ``path``."""
        self.path = path
        self.end = 0
        self._stat: tuple[int, int, int] | None = None
        self._before_end = b""

    def changes(self) -> tuple[bool, list[bytes]]:
        """Return whether reading began anew, because the file was replaced, and the lines, without line ends.

        A last line without its line end is left for later. Raises ``OSError``.
        """
        status = self.path.stat()
        stat = (status.st_ino, status.st_size, status.st_mtime_ns)
        if stat == self._stat:
            return False, []
        with self.path.open("rb") as file:
            status = os.fstat(file.fileno())
            checked = len(self._before_end)
            file.seek(self.end - checked)
            restarted = not self._continues(status.st_ino, file.read(checked))
            if restarted:
                self.end = 0
            file.seek(self.end)
            data = file.read()
        complete = data[: data.rfind(b"\n") + 1]
        self.end += len(complete)
        self._before_end = complete[-64:] if restarted else (self._before_end + complete)[-64:]
        self._stat = (status.st_ino, status.st_size, status.st_mtime_ns)
        return restarted, complete.split(b"\n")[:-1]

    def _continues(self, inode: int, before_end: bytes) -> bool:
        # A number of a removed file may be given to its successor, so the text before the end is compared too.
        return self._stat is not None and self._stat[0] == inode and before_end == self._before_end
