"""The way to an MCP server: a process's standard streams, or streamable HTTP.

What a server prints on standard error, and what the SDK has to say about lines that are no messages, goes to the
log and never to the terminal of the person who chats.
"""

from __future__ import annotations

import contextvars
import json
import logging
import os
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self
from urllib.parse import urlsplit

import anyio
import httpx2
import pydantic
from mcp import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from orca.errors import ConfigError
from orca.sections import MCPServerSettings
from orca.text.jsonable import jsonable
from orca.text.normalize import clean
from orca.values import Secret

if TYPE_CHECKING:
    from mcp.client._transport import ReadStream, TransportStreams

logger = logging.getLogger("orca")

HTTP_SECONDS = 30.0
"""How long connecting to a server, or sending to it, may take. How long an answer may take is the call's affair."""

LOG_LINE = 2_000
"""Longest line of a server's standard error that is logged, in characters."""

LAST_WORDS_SECONDS = 0.5
"""How long to wait for the rest of what a process that has ended had to say."""

SHORTEST_SECRET = 4
"""Shorter values of ``env`` (``1``, ``on``) are no secrets, and hiding them would make any text unreadable."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_SDK_LOGGERS = (
    "mcp.client.stdio",
    "mcp.client.streamable_http",
    "mcp.client.session",
    "mcp.shared.jsonrpc_dispatcher",
)

current_server: contextvars.ContextVar[str | None] = contextvars.ContextVar("current_server", default=None)
"""The server on whose behalf this context runs."""


class _Quiet(logging.Filter):
    """Takes what the SDK logs about our servers, tracebacks included, and says it in one line at level DEBUG.

    Such records are about a server's faults, which a call's result or our own warning names. Records about
    sessions that are not ours pass.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        name = current_server.get()
        if name is None:
            return True
        error = record.exc_info[1] if record.exc_info else None
        reason = f" ({type(error).__name__})" if error else ""
        logger.debug("MCP server %s: %s%s", name, record.getMessage(), reason)
        return False


_quiet = _Quiet()
for _name in _SDK_LOGGERS:
    logging.getLogger(_name).addFilter(_quiet)


class Redactor:
    """Takes a server's secrets out of whatever is about to be said of it."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        values = {secret.reveal() for secret in secrets}
        self._secrets = sorted(
            (value for value in values if len(value) >= SHORTEST_SECRET), key=len, reverse=True
        )

    def __call__(self, text: str) -> str:
        """Return ``text`` on one line, without the secrets."""
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return _CONTROL.sub(" ", clean(text)).strip()


def check(name: str, settings: MCPServerSettings) -> None:
    """Raise ``ConfigError`` where the settings name no server, or two."""
    where = f"[mcp_servers.{name}]"
    if bool(settings.command) == bool(settings.url):
        raise ConfigError(f"{where}: give either a command or a url")
    if settings.url:
        parts = urlsplit(settings.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"{where} url: must begin with http:// or https:// and name a host")


@asynccontextmanager
async def open_transport(
    name: str,
    settings: MCPServerSettings,
    *,
    ended: Callable[[], None],
    said: Callable[[str], None],
    redact: Redactor,
) -> AsyncIterator[TransportStreams]:
    """Start or reach the server.

    ``ended`` is called when nothing more can come from it, ``said`` with each line of a process's standard error.

    A process gets the variables that the settings name and those few that the SDK holds to be safe (``PATH``,
    ``HOME`` and the like), runs in a session of its own, so that Ctrl-C in the terminal does not reach it, and is
    stopped with everything it started when the block is left. Raises ``OSError`` if it cannot be started.
    """
    if settings.url:
        headers = {key: value.reveal() for key, value in settings.headers.items()}
        timeout = httpx2.Timeout(
            HTTP_SECONDS, read=max(settings.timeout_seconds, HTTP_SECONDS) + HTTP_SECONDS
        )
        async with (
            httpx2.AsyncClient(headers=headers, timeout=timeout) as client,
            streamable_http_client(settings.url, http_client=client) as (read, write),
        ):
            yield _WatchedStream(read, ended), write
        return
    parameters = StdioServerParameters(
        command=settings.command or "",
        args=list(settings.args),
        env={key: value.reveal() for key, value in settings.env.items()},
        encoding_error_handler="replace",
    )
    reading, writing = os.pipe()
    log = _log_lines(name, os.fdopen(reading, "rb"), said, redact)
    try:
        with os.fdopen(writing, "w", encoding="utf-8") as errors:
            async with stdio_client(parameters, errlog=errors) as (read, write):
                errors.close()  # the process has its own; the log ends when nobody holds the pipe any more
                yield _WatchedStream(read, ended), write
    finally:
        with anyio.move_on_after(LAST_WORDS_SECONDS, shield=True):
            while log.is_alive():  # noqa: ASYNC110 - a thread's end is no event
                await anyio.sleep(0.005)


class _WatchedStream:
    """What comes from a server, and the news that nothing comes any more, which sessions keep to themselves."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception], ended: Callable[[], None]) -> None:
        self._inner = inner
        self._ended = ended

    @property
    def last_context(self) -> contextvars.Context | None:
        """The context in which the last message was sent, where the transport knows it."""
        context: contextvars.Context | None = getattr(self._inner, "last_context", None)
        return context

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message."""
        try:
            item = await self._inner.receive()
        except BaseException:
            self._ended()
            raise
        return _repaired(item) if isinstance(item, pydantic.ValidationError) else item

    async def aclose(self) -> None:
        """Take no more messages."""
        self._ended()
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


def _repaired(error: pydantic.ValidationError) -> SessionMessage | Exception:
    r"""Return the message of a line that the SDK could not read because of half a character (``\ud83d``).

    Text cut in the middle of an emoji is common in what tools return. Python's parser takes it and the SDK's does
    not, and then the call would wait for its answer until its time is over.
    """
    line = error.errors(include_url=False)[0]["input"]
    try:
        message = json.dumps(jsonable(json.loads(line), where="the message"))
        return SessionMessage(jsonrpc_message_adapter.validate_json(message, by_name=False))
    except (TypeError, ValueError, RecursionError):  # noise that was never meant as a message
        return error


def _log_lines(
    name: str, stream: BinaryIO, said: Callable[[str], None], redact: Redactor
) -> threading.Thread:
    def work() -> None:
        with stream:
            while line := stream.readline(LOG_LINE):
                text = redact(line.decode("utf-8", "replace"))
                if text:
                    logger.info("MCP server %s: %s", name, text)
                    said(text)

    thread = threading.Thread(target=work, name=f"log of MCP server {name}", daemon=True)
    thread.start()
    return thread
