"""``orca sessions``: list, read, end and delete conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from orca.interfaces.cli.confirm import confirmed
from orca.interfaces.cli.forgetting import report_erasure
from orca.interfaces.cli.i18n import t
from orca.interfaces.cli.invocation import Cli
from orca.interfaces.cli.options import command, group

if TYPE_CHECKING:
    from orca.types import Scope

Name = Annotated[
    str | None, typer.Argument(metavar="SESSION", help="The conversation; --session names it too.")
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    sub = group(app, "sessions", "List, read, end and delete conversations.")
    for verb, function in (("list", list_), ("show", show), ("end", end), ("delete", delete)):
        command(sub, verb)(function)


def list_(cli: Cli) -> int | None:
    """List a user's conversations, oldest activity first."""
    with cli.memory() as memory:
        found = memory.sessions(user=cli.scope.user)
    if cli.json:
        return cli.finish({"sessions": found})
    cli.render.sessions(found)
    return None


def show(
    cli: Cli,
    name: Name = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", min=1, help="Newest messages to show.")
    ] = 50,
) -> int | None:
    """Show a conversation: its state and its newest messages."""
    scope = _scope(cli, name)
    with cli.memory() as memory:
        found = memory.session(scope=scope)
        messages = memory.messages(scope=scope, limit=limit)
    if cli.json:
        return cli.finish({"sessions": [found], "messages": messages})
    cli.render.sessions([found])
    cli.render.messages(messages)
    return None


def end(cli: Cli, name: Name = None) -> int | None:
    """End a conversation: what is worth knowing of it goes into long-term memory."""
    scope = _scope(cli, name)
    with cli.memory() as memory:
        ended = memory.end_session(scope=scope)
    if cli.json:
        return cli.finish({"sessions": [ended]})
    cli.render.sessions([ended])
    return None


def delete(
    cli: Cli,
    name: Name = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    erase: Annotated[
        bool,
        typer.Option("--erase", help="Also rewrite the file, and search it for traces of the deleted text."),
    ] = False,
) -> int | None:
    """Delete a conversation with everything that was derived from it."""
    scope = _scope(cli, name)
    with cli.memory() as memory:
        found = memory.session(scope=scope)
        question = t("Delete {name} with its {n} messages?", name=found.id, n=found.message_count)
        if not confirmed(cli, question, yes):
            return 1
        if erase:
            deleted = memory.erasure.preview(scope=scope)
            return report_erasure(cli, deleted, memory.erasure.erase(scope=scope), sessions=[found])
        deleted = memory.delete_session(scope=scope)
    if cli.json:
        return cli.finish({"sessions": [found], "deleted": deleted})
    cli.render.counts(t("Deleted"), deleted)
    return None


def _scope(cli: Cli, name: str | None) -> Scope:
    return cli.scope if name is None else cli.scope_of(name)
