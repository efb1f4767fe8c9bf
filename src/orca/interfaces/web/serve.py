"""Serving the app on a port until it is interrupted."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from contextlib import closing

import uvicorn
from fastapi import FastAPI

from orca.agent.llm_agent import LLMAgent
from orca.config import Settings
from orca.errors import ConfigError
from orca.interfaces.web.app import create_app
from orca.interfaces.web.state import WebState
from orca.memory.manager import MemoryManager

MAX_CONNECTIONS = 256
KEEP_ALIVE_SECONDS = 15
SHUTDOWN_SECONDS = 1
"""How long an interruption waits for answers that are under way."""


class Server(uvicorn.Server):
    """Ends the streams of events first when it is to stop: they would go on for ever."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop serving."""
        app = self.config.app
        if isinstance(app, FastAPI):
            state: WebState = app.state.orca
            state.changes.close()
        await super().shutdown(sockets)


def server(app: FastAPI) -> Server:
    """Return a server for the app, to be run on a socket of ``listen``.

    Access is not logged: addresses hold what was searched for.
    """
    config = uvicorn.Config(
        app,
        access_log=False,
        log_level="error",
        lifespan="off",
        server_header=False,
        date_header=True,
        proxy_headers=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        ws="none",
    )
    return Server(config)


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any that is free. Raises ``ConfigError`` for an address in use."""
    name = host.strip("[]")
    family = socket.AF_INET6 if ":" in name else socket.AF_INET
    try:
        return socket.create_server((name, port), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(
            f"cannot listen at {host}, port {port}: {reason}; --port chooses another"
        ) from error


def run(
    memory: MemoryManager,
    *,
    host: str,
    port: int,
    token: str | None,
    settings: Settings,
    agent: LLMAgent | None = None,
    allowed_hosts: Sequence[str] = (),
    started: Callable[[str], None],
) -> None:
    """Serve until interrupted. ``started`` is called with the address once connections are taken.

    Raises ``ConfigError`` for an address that is in use, and for one beyond loopback without a token.
    """
    # Checked before anything listens, so that nobody can connect to what should not be open.
    create_app(memory, token=token, host=host, port=port, allowed_hosts=allowed_hosts)
    with closing(listen(host, port)) as opened:
        port = opened.getsockname()[1]
        app = create_app(
            memory,
            agent=agent,
            token=token,
            host=host,
            port=port,
            settings=settings,
            allowed_hosts=allowed_hosts,
        )
        started(
            f"http://{f'[{host}]' if ':' in host.strip('[]') and not host.startswith('[') else host}:{port}/"
        )
        server(app).run(sockets=[opened])
