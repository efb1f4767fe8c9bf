"""``orca demo``: the main job on the sample conversation, from an empty database, with no key and no network."""

from __future__ import annotations

import typer

from orca.interfaces.cli.invocation import Cli
from orca.interfaces.cli.options import command


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    command(app, "demo")(demo)


def demo(cli: Cli) -> int | None:
    """Load a sample conversation in Chinese and English into a fresh database and show the memory at work.

    Needs no key and no network. Exits with 1 when an expected answer is not recalled.
    """
    # What the demo does brings the whole library with it; --help needs only its name.
    from orca.interfaces.cli import demo_run

    return demo_run.run(cli)
