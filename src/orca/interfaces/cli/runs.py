"""``orca runs``: what sub-agents did, apart from the conversation that asked for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from orca.errors import NotFoundError
from orca.interfaces.cli.i18n import t
from orca.interfaces.cli.invocation import Cli
from orca.interfaces.cli.options import command, group

if TYPE_CHECKING:
    from orca.memory.manager import MemoryManager
    from orca.types import SubAgentRun


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    sub = group(app, "runs", "List sub-agent runs and read their traces.")
    command(sub, "list")(list_)
    command(sub, "show")(show)


def list_(cli: Cli) -> int | None:
    """List sub-agent runs, of one conversation with --session and of all without."""
    with cli.memory() as memory:
        found = all_runs(cli, memory)
    if cli.json:
        return cli.finish({"runs": found})
    cli.render.runs(found)
    return None


def show(
    cli: Cli, run: Annotated[int, typer.Argument(metavar="RUN", help="The run's number.")]
) -> int | None:
    """Show a run: its task, its bounded summary, and its whole trace."""
    with cli.memory() as memory:
        found = next((item for item in all_runs(cli, memory) if item.id == run), None)
        if found is None:
            raise NotFoundError(t("there is no run {run} of user {user}", run=run, user=cli.scope.user))
        trace = memory.subagent_messages(run_id=run, user=cli.scope.user)
    if cli.json:
        return cli.finish({"runs": [found], "messages": trace})
    cli.render.runs([found])
    cli.render.trace(found, trace)
    return None


def all_runs(cli: Cli, memory: MemoryManager) -> list[SubAgentRun]:
    """Return the runs of the session that is named, or of every session of the user."""
    if cli.options.session is not None:
        return memory.subagent_runs(scope=cli.scope)
    sessions = memory.sessions(user=cli.scope.user)
    runs = [run for item in sessions for run in memory.subagent_runs(scope=cli.scope_of(item.id))]
    return sorted(runs, key=lambda run: run.id or 0)
