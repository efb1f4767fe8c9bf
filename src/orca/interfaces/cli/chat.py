"""``orca chat``: talk to an agent that remembers, or to the memory alone where there is no model."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from orca.errors import ConfigError
from orca.interfaces.cli.i18n import t
from orca.interfaces.cli.invocation import Cli
from orca.interfaces.cli.options import command


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(app, "chat")(chat)


def chat(
    cli: Cli,
    once: Annotated[
        str | None,
        typer.Option(
            "--once", metavar="TEXT", help="Say one thing and leave; - reads it from standard input."
        ),
    ] = None,
) -> int | None:
    """Talk to an agent that remembers. Without a model, the memory itself answers with what it recalls.

    At a terminal there are history, completion and several lines; a pipe gives one message a line. /help lists
    what else can be typed.
    """
    if cli.json and once is None:
        raise ConfigError(t("--json needs --once: a conversation is not one document"))
    session = cli.options.session or f"chat-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    # The agent, the terminal and the model's client take over a second to import; --help needs none of them.
    from orca.interfaces.cli import chat_run

    with cli.memory(create=True, stand_in=True, settings=chat_run.settings_of_memory(cli.settings)) as memory:
        return chat_run.run(cli, memory, cli.scope_of(session), once=once, settings=cli.settings)
