"""The app: routes, guard, errors and state put together."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from orca.agent.llm_agent import LLMAgent
from orca.config import Settings
from orca.interfaces.web import pages, problems
from orca.interfaces.web.access import Access
from orca.interfaces.web.api import routes
from orca.interfaces.web.changes import Changes
from orca.interfaces.web.guard import Guard
from orca.interfaces.web.limits import Limits
from orca.interfaces.web.rendering import HERE
from orca.interfaces.web.state import WebState
from orca.memory.manager import MemoryManager

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8420


def create_app(
    memory: MemoryManager,
    *,
    agent: LLMAgent | None = None,
    token: str | None = None,
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    settings: Settings | None = None,
    allowed_hosts: Sequence[str] = (),
    limits: Limits | None = None,
) -> FastAPI:
    """Return the ASGI app over a memory; it closes neither the memory nor the agent.

    Args:
        memory: What is shown and changed.
        agent: Who answers on the chat page; None for no chat.
        token: The access token; needed wherever ``host`` is not loopback.
        host: The address that the app will be served at, which decides whom it answers.
        port: The port there; names the cookie, because cookies do not know ports.
        settings: What is configured, for the settings page and the default language.
        allowed_hosts: More names that the server goes by, behind a proxy, say.
        limits: What one client may ask for.

    Raises ``ConfigError`` for a host beyond loopback without a token.

    """
    access = Access(host=host, port=port, token=token, allowed_hosts=allowed_hosts)
    app = FastAPI(title="Orca", openapi_url=None, docs_url=None, redoc_url=None)
    app.state.orca = WebState(
        memory=memory,
        access=access,
        changes=Changes(memory),
        agent=agent,
        settings=settings or Settings(),
    )
    app.include_router(routes.router)
    app.include_router(pages.router)
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    problems.install(app)
    app.add_middleware(Guard, access=access, limits=limits or Limits(), refuse=problems.refuse)
    return app
