"""A directory that an agent may work in, and nothing outside of it.

A path is resolved first, symbolic links included, and must lie inside. It is then opened part by part from the
directory's own descriptor, following no link, so that a link put there in between leads nowhere. Where the platform
cannot open relative to a descriptor (Windows), the path is resolved a second time after opening; a race can then
still be lost, by somebody who can already write into the workspace.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orca.errors import ConfigError, ToolError

MAX_PATH = 1_000
"""Longest path that is looked at, in characters."""

HAS_DIRECTORY_DESCRIPTORS = {os.open, os.mkdir, os.stat, os.unlink, os.rename} <= os.supports_dir_fd
_FOLLOW_NOT = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _FOLLOW_NOT
# Opening a named pipe would wait for its other end; what is no plain file is refused once it is open.
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | _FOLLOW_NOT
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | _FOLLOW_NOT

# Windows finds a device under these names in every directory, with any extension; a workspace may be shared with one.
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)\s*(\..*)?", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What stands in a directory: its path from the workspace, whether it is a directory, its size in bytes."""

    path: str
    directory: bool
    size: int


class Workspace:
    """Reads and writes inside of ``root``. Everything refused is a ``ToolError`` in words that a model can act on."""

    def __init__(self, root: str | Path, *, closed: Iterable[Path] = ()) -> None:
        """Take a directory that exists, and directories in it that nobody may look into.

        Raises ``ConfigError`` if ``root`` is no directory, or lies within a closed one.
        """
        given = Path(root).expanduser().absolute()
        if not given.is_dir():
            raise ConfigError(f"tools.workspace: {given} is not a directory")
        self._given = given
        self.root = given.resolve()
        self._closed = tuple(Path(path).expanduser().resolve() for path in closed)
        if self._is_closed(self.root):
            raise ConfigError(f"tools.workspace: {given} holds Orca's own files; name another directory")

    def resolve(self, path: str) -> tuple[str, ...]:
        """Return the parts of ``path`` from the workspace's root, without links; empty for the root itself."""
        shown = path if len(path) <= 200 else path[:200] + "…"
        parts = self._parts(path, shown)
        try:
            real = self.root.joinpath(*parts).resolve()
        except (OSError, RuntimeError, ValueError) as error:  # links in a circle, a name that is too long
            raise ToolError(f"{shown!r} cannot be resolved: {error}") from error
        if not real.is_relative_to(self.root):
            raise ToolError(f"{shown!r} leads outside the workspace")
        if self._is_closed(real):
            raise ToolError(f"{shown!r} belongs to Orca itself and is closed to tools")
        found = real.relative_to(self.root).parts
        for part in (*parts, *found):
            _check_name(part, shown)
        return found

    def read(self, parts: tuple[str, ...], *, limit: int) -> bytes:
        """Return a file's bytes. Raises ``ToolError`` for what is no plain file or has more than ``limit`` bytes."""
        shown = "/".join(parts)
        if not parts:
            raise ToolError("the path names the workspace itself; name a file in it")
        with _speaking(shown), self._directory(parts[:-1]) as parent:
            descriptor = _open(parent, parts[-1], _READ)
            try:
                self._confirm_place(parts)
                mode = os.fstat(descriptor).st_mode
                if stat.S_ISDIR(mode):
                    raise ToolError(f"{shown!r} is a directory")
                if not stat.S_ISREG(mode):
                    raise ToolError(f"{shown!r} is not a plain file")
                with os.fdopen(descriptor, "rb", closefd=False) as file:
                    content = file.read(limit + 1)
            finally:
                os.close(descriptor)
        if len(content) > limit:
            raise ToolError(f"{shown!r} has more than {limit:,} bytes")
        return content

    def entries(self, parts: tuple[str, ...]) -> list[Entry]:
        """Return what stands in a directory, by name. Hidden names, links and devices are left out."""
        prefix = "".join(f"{part}/" for part in parts)
        found: list[Entry] = []
        with (
            _speaking(prefix or "."),
            self._directory(parts) as directory,
            os.scandir(directory) as scan,
        ):
            for item in scan:
                hidden = _is_hidden(item.name) or _CONTROL.search(item.name)
                if hidden or self._is_closed(self.root.joinpath(*parts, item.name)):
                    continue
                with contextlib.suppress(FileNotFoundError):  # gone in the meantime
                    status = item.stat(follow_symlinks=False)
                    is_directory = stat.S_ISDIR(status.st_mode)
                    if is_directory or stat.S_ISREG(status.st_mode):
                        found.append(
                            Entry(path=prefix + item.name, directory=is_directory, size=status.st_size)
                        )
        return sorted(found, key=lambda entry: entry.path)

    def write(self, parts: tuple[str, ...], content: bytes) -> None:
        """Put ``content`` in the place of a file, at once or not at all; missing directories are made."""
        if not parts:
            raise ToolError("the path names the workspace itself; name a file in it")
        temporary = f".orca-{secrets.token_hex(8)}.tmp"
        with _speaking("/".join(parts)), self._directory(parts[:-1], make=True) as parent:
            mode = _mode_of(parent, parts[-1])
            descriptor = _open(parent, temporary, _CREATE)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(content)
                    file.flush()
                    if mode is not None and hasattr(os, "fchmod"):
                        os.fchmod(descriptor, mode)
                    os.fsync(descriptor)
                self._confirm_place(parts[:-1])
                _replace(parent, temporary, parts[-1])
            except BaseException:
                with contextlib.suppress(FileNotFoundError):
                    _remove(parent, temporary)
                raise

    def _is_closed(self, path: Path) -> bool:
        return any(path.is_relative_to(closed) for closed in self._closed)

    def _parts(self, path: str, shown: str) -> tuple[str, ...]:
        if not path.strip() or len(path) > MAX_PATH or _CONTROL.search(path):
            raise ToolError(
                f"{shown!r} is not a path: use 1 to {MAX_PATH} characters without control characters"
            )
        if Path(path).is_absolute():
            for root in (self._given, self.root):
                if Path(path).is_relative_to(root):
                    path = Path(path).relative_to(root).as_posix()
                    break
            else:
                raise ToolError(f"{shown!r} is outside the workspace; give a path that starts in it")
        if _DRIVE.match(path) or path.startswith(("~", "\\\\")):
            raise ToolError(f"{shown!r} is outside the workspace; give a path that starts in it")
        parts = tuple(
            part for part in re.split(r"[/\\]" if os.sep == "\\" else "/", path) if part not in ("", ".")
        )
        if ".." in parts:
            raise ToolError(f"{shown!r}: '..' is not allowed; give a path that starts in the workspace")
        return parts

    @contextmanager
    def _directory(self, parts: tuple[str, ...], *, make: bool = False) -> Iterator[int | str]:
        """Yield the directory's descriptor, or its path where descriptors do not serve."""
        if not HAS_DIRECTORY_DESCRIPTORS:
            place = self.root.joinpath(*parts)
            if make:
                place.mkdir(parents=True, exist_ok=True)
            self._confirm_place(parts)
            yield str(place)
            return
        descriptor = os.open(self.root, _DIRECTORY)
        try:
            for part in parts:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, dir_fd=descriptor)
                inner = os.open(part, _DIRECTORY, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)

    def _confirm_place(self, parts: tuple[str, ...]) -> None:
        if not HAS_DIRECTORY_DESCRIPTORS:
            place = self.root.joinpath(*parts)
            if place.resolve() != place:
                raise ToolError(f"{'/'.join(parts)!r} was moved in the meantime")


def _is_hidden(name: str) -> bool:
    """Whether a name begins with a dot, also behind characters without a form, which some file systems ignore."""
    seen = next((character for character in name if unicodedata.category(character) != "Cf"), "")
    return seen == "."


def _check_name(part: str, shown: str) -> None:
    if _is_hidden(part):
        raise ToolError(
            f"{shown!r} is hidden: names that begin with a dot often hold keys and settings, and are closed to tools"
        )
    if _DEVICE.fullmatch(part) or part.endswith((" ", ".")) or ":" in part:
        raise ToolError(f"{shown!r}: {part!r} names a device, or no file, on some systems; use another name")


def _open(parent: int | str, name: str, flags: int) -> int:
    if isinstance(parent, int):
        return os.open(name, flags, 0o666, dir_fd=parent)
    return os.open(Path(parent) / name, flags, 0o666)


def _mode_of(parent: int | str, name: str) -> int | None:
    """Return the permissions of the file that is there, None if none is. Raises ``ToolError`` for no plain file."""
    try:
        if isinstance(parent, int):
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        else:
            status = (Path(parent) / name).lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{name!r} is there and not a plain file")
    return stat.S_IMODE(status.st_mode)


def _replace(parent: int | str, source: str, target: str) -> None:
    if isinstance(parent, int):
        os.replace(source, target, src_dir_fd=parent, dst_dir_fd=parent)
        os.fsync(parent)
    else:
        (Path(parent) / source).replace(Path(parent) / target)


def _remove(parent: int | str, name: str) -> None:
    if isinstance(parent, int):
        os.unlink(name, dir_fd=parent)
    else:
        (Path(parent) / name).unlink()


@contextmanager
def _speaking(shown: str) -> Iterator[None]:
    """Say in words what the system refuses."""
    try:
        yield
    except FileNotFoundError as error:
        raise ToolError(f"there is no {shown!r} in the workspace") from error
    except NotADirectoryError as error:
        raise ToolError(f"{shown!r} is not a directory, or leads through something that is none") from error
    except OSError as error:
        raise ToolError(f"{shown!r}: {error.strerror or error}") from error
