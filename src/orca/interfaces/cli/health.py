"""``orca status``, ``orca verify`` and ``orca reindex``: is everything there, and can it be found."""

from __future__ import annotations

from typing import Annotated

import typer

from orca.interfaces.cli.i18n import t
from orca.interfaces.cli.invocation import Cli
from orca.interfaces.cli.options import command
from orca.interfaces.cli.waiting import wait_for_jobs


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(app, "status")(status)
    command(app, "verify")(verify)
    command(app, "reindex")(reindex)


def status(cli: Cli) -> int | None:
    """Show what is stored, what waits and why, and what is missing."""
    with cli.memory(stand_in=True) as memory:
        found = memory.status()
    if cli.json:
        return cli.finish(found)
    cli.render.status(found)
    return None


def verify(cli: Cli) -> int | None:
    """Check rows against indexes and vectors, orphans, and the file itself. Exits with 1 when something is wrong."""
    with cli.memory() as memory:
        report = memory.verify()
    code = 0 if report.ok else 1
    if cli.json:
        return cli.finish({"ok": report.ok, "checks": report.checks}, code)
    cli.render.report(report)
    return code


def reindex(
    cli: Cli,
    vectors: Annotated[bool, typer.Option("--vectors", help="Make every vector anew, too.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the vectors are made.")] = True,
) -> int | None:
    """Rebuild the keyword indexes, and make the vectors that are missing. No text is touched."""
    with cli.memory() as memory:
        counts = dict(memory.reindex(vectors=vectors))
        code = 3 if wait and wait_for_jobs(cli, memory) else 0
        pending = sum(entry.count for entry in memory.status().backlog)
    if cli.json:
        return cli.finish({**counts, "pending": pending}, code)
    cli.render.counts(t("Indexed"), {**counts, "pending": pending})
    return code
