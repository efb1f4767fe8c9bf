"""One run of a command: its options, the settings, the store it works on, and how it speaks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from orca.config import Settings, load_settings
from orca.errors import ConfigError, NotFoundError, StoreUnavailableError
from orca.interfaces.cli.i18n import t
from orca.interfaces.cli.output import note, print_json
from orca.values import is_file_url, is_local_url, storage_url

if TYPE_CHECKING:
    from orca.memory.manager import MemoryManager
    from orca.types import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options that every command has."""

    db: str | None = None
    user: str | None = None
    session: str | None = None
    as_json: bool = False
    lang: str | None = None
    debug: bool = False


class Cli:
    """What a command is handed: options and settings, a way to the memory, a way to speak."""

    def __init__(self, options: Options) -> None:
        self.options = options

    @property
    def json(self) -> bool:
        """Whether one JSON document is wanted."""
        return self.options.as_json

    @cached_property
    def settings(self) -> Settings:
        """The settings; read when first needed."""
        return load_settings()

    @property
    def url(self) -> str:
        """The store to work on: ``--db``, or the configured one."""
        if self.options.db is None:
            return self.settings.storage_url
        kind = storage_url()
        try:
            return str(kind.check(self.options.db))
        except ValueError as error:
            raise ConfigError(t("--db must be {allowed}", allowed=kind.allowed)) from error

    @property
    def scope(self) -> Scope:
        """Whose memory and which conversation."""
        return self.scope_of(self.options.session or "default")

    def scope_of(self, session: str) -> Scope:
        """Return the scope of another conversation of the same user."""
        # The domain's types take a tenth of the time that --help may take, which needs none of them.
        from orca.types import Scope

        return Scope(user=self.options.user or "default", session=session)

    @contextmanager
    def memory(
        self,
        *,
        create: bool = False,
        stand_in: bool = False,
        url: str | None = None,
        settings: Settings | None = None,
    ) -> Iterator[MemoryManager]:
        """Open the memory for a block. Without ``create`` a file that is not there is an error, and stays absent.

        A store that cannot be opened is an error too, unless ``stand_in`` allows the empty one that the library
        then puts in its place: for a command, an empty answer would look like the truth. ``url`` and ``settings``
        stand in for those that were given or configured.
        """
        if not create:
            self.require_store()
        # The library brings numpy and a driver with it; --help and wrong use must not wait for them.
        from orca.wiring import open_memory

        with open_memory(url or self.url, settings=settings or self.settings) as memory:
            if not stand_in and is_file_url(url or self.url):
                _refuse_stand_in(memory)
            yield memory

    def require_store(self) -> None:
        """Raise ``NotFoundError`` where the store is a file that does not exist."""
        if is_file_url(self.url) and not Path(self.url).expanduser().exists():
            raise NotFoundError(
                t(
                    "there is no database at {path}; name one with --db, or fill it with: orca import FILE",
                    path=self.url,
                )
            )

    @cached_property
    def render(self) -> ModuleType:
        """The module that draws tables and panels."""
        # Rich takes as long to import as everything else that --help needs; JSON needs none of it.
        from orca.interfaces.cli import render

        return render

    def finish(self, document: Any, code: int = 0) -> int:
        """Print a command's JSON document and return its exit code."""
        print_json(document)
        return code

    def note(self, text: str) -> None:
        """Say something about the work itself, on standard error."""
        note(text)

    def prose(self, text: str) -> None:
        """Say more than a line about the work itself, on standard error, broken between words for a terminal."""
        self.render.prose(text, error=True)


def has_model(settings: Settings) -> bool:
    """Whether there is a model to talk to, and a key where its address wants one."""
    reachable = settings.llm_key is not None or is_local_url(settings.llm.base_url)
    return settings.llm.model is not None and reachable


def _refuse_stand_in(memory: MemoryManager) -> None:
    status = memory.status()
    if not is_file_url(status.location):
        raise StoreUnavailableError("; ".join(status.degraded) or None)
