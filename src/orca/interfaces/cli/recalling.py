"""``orca recall`` and ``orca context``: what would be retrieved, and the prompt that would be assembled."""

from __future__ import annotations

from typing import Annotated

import typer

from orca.interfaces.cli.invocation import Cli
from orca.interfaces.cli.options import command
from orca.memory.ranking import best_hits
from orca.text.normalize import clean

Query = Annotated[str, typer.Argument(metavar="QUERY", help="What to look for, in any language.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(app, "recall")(recall)
    command(app, "context")(context)


def recall(
    cli: Cli,
    query: Query,
    limit: Annotated[
        int, typer.Option("--limit", "-k", metavar="N", min=1, help="Most hits to return.")
    ] = 10,
    explain: Annotated[bool, typer.Option("--explain", help="Show what each lane gave to each hit.")] = False,
) -> int | None:
    """Search all three tiers and show what would be brought back for a query."""
    with cli.memory() as memory:
        recalled = memory.recall(scope=cli.scope, query=clean(query), limit=limit)
    hits = best_hits(recalled, limit)
    if cli.json:
        return cli.finish({"hits": hits, "degraded": recalled.degraded})
    cli.render.hits(hits, explain=explain, degraded=recalled.degraded)
    return None


def context(
    cli: Cli,
    query: Query,
    window: Annotated[
        int | None,
        typer.Option(
            "--window", metavar="TOKENS", min=1, help="The model's window. Default: the configured one."
        ),
    ] = None,
    system: Annotated[
        str | None, typer.Option("--system", metavar="TEXT", help="A system prompt to include.")
    ] = None,
) -> int | None:
    """Assemble the prompt for a query and show it with its ledger of tokens and reasons."""
    with cli.memory() as memory:
        built = memory.build_context(scope=cli.scope, query=clean(query), window_tokens=window, system=system)
    if cli.json:
        return cli.finish(
            {
                "messages": built.messages,
                "items": built.items,
                "tokens": built.tokens,
                "budget": built.budget,
                "degraded": built.degraded,
            }
        )
    cli.render.context(built)
    return None
