"""``orca chat``: talk to the memory. Without a model it keeps what is said and answers with what it recalls."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from orca.errors import ConfigError
from orca.interfaces.cli.i18n import t
from orca.interfaces.cli.invocation import Cli
from orca.interfaces.cli.options import command
from orca.interfaces.cli.recalling import best_hits
from orca.text.normalize import clean

if TYPE_CHECKING:
    from orca.memory.manager import MemoryManager
    from orca.types import Hit, Message, Scope

RECALLED = 5
"""Hits that an answer shows: as many as fit on a screen with the question."""

_COMMANDS = ("/help", "/context", "/memory", "/session", "/quit")


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(app, "chat")(chat)


def chat(
    cli: Cli,
    once: Annotated[
        str | None, typer.Option("--once", metavar="TEXT", help="Say one thing and leave.")
    ] = None,
) -> int | None:
    """Talk to the memory: it keeps what is said and answers with what it recalls.

    Reads one message a line from the terminal or a pipe. /help lists what else can be typed.
    """
    if cli.json and once is None:
        raise ConfigError(t("--json needs --once: a conversation is not one document"))
    session = cli.options.session or f"chat-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    scope = cli.scope_of(session)
    with cli.memory(create=True, stand_in=True) as memory:
        if once is not None:
            return _once(cli, memory, scope, clean(once))
        _greet(cli, scope)
        return _converse(cli, memory, scope)


def _once(cli: Cli, memory: MemoryManager, scope: Scope, text: str) -> int | None:
    message, hits, degraded = answer(memory, scope, text)
    if cli.json:
        return cli.finish({"message": message, "hits": hits, "degraded": degraded, "model": None})
    cli.render.answer(hits, degraded)
    cli.note(_how_to_get_a_model(cli))
    return None


def answer(memory: MemoryManager, scope: Scope, text: str) -> tuple[Message, list[Hit], str | None]:
    """Keep what was said, then return it with what it brings back, itself left out.

    What is recalled is shown and not stored: a memory that records its own echoes would recall those next.
    """
    message = memory.observe(scope=scope, role="user", content=text)
    recalled = memory.recall(scope=scope, query=text, limit=RECALLED + 1)
    hits = [hit for hit in best_hits(recalled, 2 * RECALLED) if (hit.kind, hit.id) != ("message", message.id)]
    return message, hits[:RECALLED], recalled.degraded


def _greet(cli: Cli, scope: Scope) -> None:
    cli.note(t("Conversation {name}. /help lists what can be typed.", name=scope.session))
    cli.note(_how_to_get_a_model(cli))


def _how_to_get_a_model(cli: Cli) -> str:
    path = cli.settings.home / "config.toml"
    if cli.settings.llm.model:
        return t("Memory only: this version keeps and recalls, and does not call [llm] model yet.")
    return t("Memory only: no chat model is configured. Name one under [llm] model in {path}.", path=path)


def _converse(cli: Cli, memory: MemoryManager, scope: Scope) -> int | None:
    said, last = 0, ""
    while (line := _read()) is not None:
        text = clean(line).strip()
        if text in ("/quit", "/exit"):
            break
        if text.startswith("/"):
            _obey(cli, memory, scope, text, last)
        elif text:
            _, hits, degraded = answer(memory, scope, text)
            cli.render.answer(hits, degraded)
            said, last = said + 1, text
    if said:
        memory.end_session(scope=scope)
        cli.note(t("Kept {n} messages. Go on with: orca chat --session {name}", n=said, name=scope.session))
    return None


def _read() -> str | None:
    """Return the next line, None at the end of the input; only a person gets a prompt."""
    if sys.stdin.isatty():
        try:
            return input("› ")
        except (EOFError, KeyboardInterrupt):  # both end a conversation, which is then ended properly
            return None
    return sys.stdin.readline() or None


def _obey(cli: Cli, memory: MemoryManager, scope: Scope, text: str, last: str) -> None:
    if text == "/context":
        cli.render.context(memory.build_context(scope=scope, query=last or None))
    elif text == "/memory":
        cli.render.memories(memory.memories(scope=scope))
    elif text == "/session":
        cli.render.sessions([item for item in memory.sessions(user=scope.user) if item.id == scope.session])
    else:
        if text != "/help":
            cli.note(t("unknown: {text}", text=text))
        cli.note(t("Type a message, or one of: {names}", names=" ".join(_COMMANDS)))
