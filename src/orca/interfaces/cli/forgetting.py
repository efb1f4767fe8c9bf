"""``orca forget``: let a memory, a conversation or a user go for good, and see before what would go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from orca.errors import ConfigError
from orca.interfaces.cli.confirm import confirmed
from orca.interfaces.cli.i18n import t
from orca.interfaces.cli.invocation import Cli
from orca.interfaces.cli.options import command

if TYPE_CHECKING:
    from orca.health import Report


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    command(app, "forget")(forget)


def forget(
    cli: Cli,
    id: Annotated[
        int | None,
        typer.Argument(metavar="[ID]", help="A memory; without it, what --session or --user names."),
    ] = None,
    messages: Annotated[
        bool, typer.Option("--messages", help="With a memory: also the messages that it came from.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> int | None:
    """Forget a memory, a conversation (--session) or a user (--user): rows, indexes, vectors, traces in the file."""
    given = cli.options
    if id is None and given.session is None and given.user is None:
        raise ConfigError(t("name a memory by its number, a conversation by --session, or a user by --user"))
    if messages and id is None:
        raise ConfigError(t("--messages goes with a memory's number"))
    user = id is None and given.session is None
    with cli.memory() as memory:
        counts = memory.erasure.preview(scope=cli.scope, memory_id=id, user=user, sources=messages)
        if dry_run:
            if cli.json:
                return cli.finish({"would_delete": counts})
            cli.render.counts(t("Would go"), counts)
            return None
        if not confirmed(cli, t("Forget {n} rows for good?", n=sum(counts.values())), yes):
            return 1
        report = memory.erasure.erase(scope=cli.scope, memory_id=id, user=user, sources=messages)
    return report_erasure(cli, counts, report)


def report_erasure(cli: Cli, counts: Mapping[str, int], report: Report, **more: object) -> int:
    """Say what went and what a search for its text found, with ``more`` in the JSON; return the exit code."""
    code = 0 if report.ok else 3
    if cli.json:
        return cli.finish({**more, "deleted": counts, "ok": report.ok, "checks": report.checks}, code)
    cli.render.counts(t("Deleted"), counts)
    for check in report.checks:
        cli.render.line(f"{'✓' if check.ok else '✗'} {check.name}: {check.detail}")
    return code
