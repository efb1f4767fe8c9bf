"""The options that every command has, before or after its name, and how a function becomes a command."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_type_hints

import typer

from orca.interfaces.cli.help import OrcaCommand, OrcaHelpGroup
from orca.interfaces.cli.invocation import Cli, Options


def _not_blank(value: str | None) -> str | None:
    if value is not None and not value.strip():
        raise typer.BadParameter("must not be blank")
    return value


def _known_language(value: str | None) -> str | None:
    if value not in (None, "zh", "en"):
        raise typer.BadParameter("must be zh or en")
    return value


COMMON: Mapping[str, Any] = {
    "db": Annotated[
        str | None,
        typer.Option(
            "--db", metavar="PATH|URL", help="The store: a file or postgresql://…", callback=_not_blank
        ),
    ],
    "user": Annotated[
        str | None, typer.Option("--user", metavar="NAME", help="Whose memory.", callback=_not_blank)
    ],
    "session": Annotated[
        str | None, typer.Option("--session", metavar="NAME", help="Which conversation.", callback=_not_blank)
    ],
    "as_json": Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")],
    "lang": Annotated[
        str | None,
        typer.Option("--lang", metavar="zh|en", help="Language of the messages.", callback=_known_language),
    ],
    "debug": Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error, and what is logged.")
    ],
}


def command(app: typer.Typer, name: str) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
    """Make a function ``f(cli, …) -> exit code or None`` a command of ``app``, with the common options added."""

    def register(function: Callable[..., int | None]) -> Callable[..., int | None]:
        hints = get_type_hints(function, include_extras=True)
        own = [
            parameter.replace(annotation=hints[key])
            for key, parameter in inspect.signature(function).parameters.items()
            if key != "cli"
        ]

        @functools.wraps(function)
        def run(ctx: typer.Context, **given: Any) -> None:
            options = merge(ctx.obj, given)
            code = function(Cli(options), **given)
            if code:
                raise typer.Exit(code)

        _declare(run, own)
        app.command(name, cls=OrcaCommand)(run)
        return function

    return register


def group(app: typer.Typer, name: str, help_text: str) -> typer.Typer:
    """Add a group of commands to ``app``; it takes the common options too."""
    sub = typer.Typer(cls=OrcaHelpGroup, help=help_text, rich_markup_mode=None)

    @sub.callback()
    @common_options
    def _take(ctx: typer.Context) -> None:
        pass

    app.add_typer(sub, name=name)
    return sub


def common_options(function: Callable[..., None]) -> Callable[..., None]:
    """Let a group's callback ``f(ctx)`` take the common options before the command's name."""

    @functools.wraps(function)
    def run(ctx: typer.Context, **given: Any) -> None:
        ctx.obj = merge(ctx.obj, given)
        function(ctx, **given)

    hints = get_type_hints(function, include_extras=True)
    own = [
        parameter.replace(annotation=hints[key])
        for key, parameter in inspect.signature(function).parameters.items()
        if key != "ctx"
    ]
    _declare(run, own)
    return run


def merge(before: object, given: dict[str, Any]) -> Options:
    """Take the common options out of ``given`` and lay them over those that stood before the command's name."""
    options = before if isinstance(before, Options) else Options()
    taken = {name: given.pop(name) for name in COMMON}
    return Options(
        **{name: getattr(options, name) if value in (None, False) else value for name, value in taken.items()}
    )


def _declare(run: Any, own: list[inspect.Parameter]) -> None:
    keyword = inspect.Parameter.KEYWORD_ONLY
    common = [
        inspect.Parameter(
            name, keyword, default=False if name in ("as_json", "debug") else None, annotation=kind
        )
        for name, kind in COMMON.items()
    ]
    ctx = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    parameters = [ctx, *(item.replace(kind=keyword) for item in own), *common]
    del run.__wrapped__  # its signature is the one given here
    run.__signature__ = inspect.Signature(parameters)
    run.__annotations__ = {item.name: item.annotation for item in parameters}
