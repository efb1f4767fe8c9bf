"""Settings: health, what is configured (no secret is ever shown), language and theme, keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from orca.config import Settings, sections
from orca.interfaces.web.formatting import stored_bytes
from orca.interfaces.web.rendering import page
from orca.interfaces.web.state import Memory, state_of
from orca.values import Secret, redact_url

router = APIRouter()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A key of ``config.toml``, what it holds, and whether that is a secret, which is never shown."""

    section: str
    key: str
    value: str
    secret: bool


@router.get("/settings")
def show_settings(request: Request, memory: Memory, verify: bool = False) -> Response:
    """Show health and configuration; with ``verify`` rows are checked against the indexes too."""
    state = state_of(request)
    status = memory.status()
    return page(
        request,
        "settings.html",
        store=status,
        bytes_stored=stored_bytes(status.location),
        report=memory.verify() if verify else None,
        entries=list(_entries(state.settings)),
        home=str(state.settings.home),
        agent=state.agent,
        users=memory.browse.users(),
        budget=memory.budget,
    )


def _entries(settings: Settings) -> Iterator[Entry]:
    for name, _ in sections():
        if name.endswith(".NAME"):
            table = name.removesuffix(".NAME")
            for label, section in getattr(settings, table).items():
                yield from _keys(f"{table}.{label}", section)
        else:
            yield from _keys(name, getattr(settings, name))


def _keys(name: str, section: Any) -> Iterator[Entry]:
    for key in fields(section):
        value = getattr(section, key.name)
        secret = key.metadata["kind"].secret or isinstance(value, Secret)
        yield Entry(
            section=name, key=key.name, value="" if secret else _plain(value), secret=secret and bool(value)
        )


def _plain(value: Any) -> str:
    if value is None or value in ("", (), {}):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ", ".join(str(part) for part in value)
    if isinstance(value, Mapping):
        return ", ".join(value)
    return redact_url(str(value)) if "://" in str(value) else str(value)
