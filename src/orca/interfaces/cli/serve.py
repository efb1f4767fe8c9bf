"""``orca serve``: look through the memory in a browser, and the REST API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from orca.errors import MissingExtraError
from orca.interfaces.cli.i18n import t
from orca.interfaces.cli.invocation import Cli
from orca.interfaces.cli.options import command

if TYPE_CHECKING:
    from orca.agent.llm_agent import LLMAgent
    from orca.memory.manager import MemoryManager

WEB_PACKAGES = ("fastapi", "jinja2", "python_multipart", "starlette", "uvicorn")
"""What the extra brings."""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    command(app, "serve")(serve)


def serve(
    cli: Cli,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="The address to listen at.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option("--port", metavar="N", min=0, max=65535, help="The port; 0 takes any that is free."),
    ] = 8420,
    token: Annotated[
        str | None,
        typer.Option("--token", metavar="TEXT", help="The access token; needed at any address but loopback."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="Another name that the server goes by."),
    ] = None,
) -> int | None:
    """Show the memory in a browser, and serve its REST API. Ctrl-C stops it.

    Only this machine can connect, unless --host names another address; that takes a --token.
    """
    try:
        # The web framework takes over a second to import; --help needs none of it.
        from orca.interfaces.web import serve as web
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in WEB_PACKAGES:
            raise
        raise MissingExtraError(
            t("the Web UI is not installed; run: pip install 'orca-agent[web]'")
        ) from error

    def started(address: str) -> None:
        if cli.json:
            cli.finish({"url": address})
        else:
            cli.note(t("Orca is at {address}; Ctrl-C stops it", address=address))

    with cli.memory(create=True, stand_in=True) as memory:
        web.run(
            memory,
            host=host,
            port=port,
            token=token,
            settings=cli.settings,
            agent=_agent(cli, memory),
            allowed_hosts=allow_host or (),
            started=started,
        )
    return None


def _agent(cli: Cli, memory: MemoryManager) -> LLMAgent | None:
    """Return the agent of the chat page, None where no model is configured."""
    if cli.settings.llm.model is None:
        return None
    # See above: the agent brings a client of models with it.
    from orca.wiring import open_agent

    return open_agent(memory, settings=cli.settings)
