"""Asking before something goes for good; only a person at a terminal is asked."""

from __future__ import annotations

import sys

import typer

from orca.interfaces.cli.i18n import t
from orca.interfaces.cli.invocation import Cli


def confirmed(cli: Cli, question: str, yes: bool) -> bool:
    """Return whether to go on: with ``--yes``, ``--json`` and in scripts always, else as the user answers."""
    if yes or cli.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return True
    if typer.confirm(question, err=True):
        return True
    cli.note(t("nothing was deleted"))
    return False
