"""``orca memories``: look into long-term memory and correct it by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from orca.errors import ConfigError
from orca.interfaces.cli.confirm import confirmed
from orca.interfaces.cli.i18n import t
from orca.interfaces.cli.invocation import Cli
from orca.interfaces.cli.options import command, group

if TYPE_CHECKING:
    from orca.types import Memory, MemoryKind

Id = Annotated[int, typer.Argument(metavar="ID", help="The memory's number.")]
Content = Annotated[str, typer.Argument(metavar="TEXT", help="What to remember.")]
Kind = Annotated[
    str | None, typer.Option("--kind", metavar="KIND", help="preference, fact, decision or project.")
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    sub = group(app, "memories", "List, add, correct, pin and forget long-term memories.")
    for name, function in (
        ("list", list_),
        ("add", add),
        ("edit", edit),
        ("pin", pin),
        ("forget", forget),
        ("history", history),
    ):
        command(sub, name)(function)


def list_(
    cli: Cli,
    kind: Kind = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also those that are superseded or retired.")
    ] = False,
) -> int | None:
    """List the long-term memories of a user."""
    with cli.memory() as memory:
        found = memory.memories(scope=cli.scope, kind=_kind(kind), include_inactive=everything)
    return _show(cli, found)


def add(cli: Cli, content: Content, kind: Kind = "fact") -> int | None:
    """Remember something, as if the user had asked for it."""
    with cli.memory(create=True) as memory:
        stored = memory.remember(scope=cli.scope, content=content, kind=_kind(kind) or "fact")
    return _show(cli, [stored])


def edit(cli: Cli, id: Id, content: Content, kind: Kind = None) -> int | None:
    """Replace a memory's text; the old version stays in its history."""
    with cli.memory() as memory:
        stored = memory.update_memory(scope=cli.scope, id=id, content=content, kind=_kind(kind))
    return _show(cli, [stored])


def pin(
    cli: Cli,
    id: Id,
    off: Annotated[bool, typer.Option("--off", help="Let it go again.")] = False,
) -> int | None:
    """Pin a memory, so that it always enters the prompt and never retires."""
    with cli.memory() as memory:
        stored = memory.pin(scope=cli.scope, id=id, pinned=not off)
    return _show(cli, [stored])


def forget(
    cli: Cli,
    id: Id,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> int | None:
    """Delete a memory for good, with every version of it."""
    with cli.memory() as memory:
        versions = memory.history(scope=cli.scope, id=id)
        if not confirmed(
            cli, t("Forget “{text}” with its {n} versions?", text=versions[-1].content, n=len(versions)), yes
        ):
            return 1
        deleted = memory.forget(scope=cli.scope, id=id)
    if cli.json:
        return cli.finish({"memories": versions, "deleted": deleted})
    cli.render.line(t("Forgotten: {text}", text=versions[-1].content))
    return None


def history(cli: Cli, id: Id) -> int | None:
    """Show every version of a memory and where each came from."""
    with cli.memory() as memory:
        versions = memory.history(scope=cli.scope, id=id)
    if cli.json:
        return cli.finish({"memories": versions})
    cli.render.history(versions)
    return None


def _show(cli: Cli, found: list[Memory]) -> int | None:
    if cli.json:
        return cli.finish({"memories": found})
    cli.render.memories(found)
    return None


def _kind(name: str | None) -> MemoryKind | None:
    # The domain's types take a tenth of the time that --help may take, which needs none of them.
    from orca.types import MEMORY_KINDS

    for kind in MEMORY_KINDS:
        if kind == name:
            return kind
    if name is not None:
        raise ConfigError(
            t("--kind must be one of {kinds}, not {name}", kinds=", ".join(MEMORY_KINDS), name=name)
        )
    return None
