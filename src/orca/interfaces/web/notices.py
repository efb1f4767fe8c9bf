"""What a page says after a write. The address names one of these texts, so that no link can make a page say more."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse

from orca.interfaces.web.i18n import Translate

NOTICES = {
    "renamed": "The session has its new title.",
    "ended": "The session is ended, and what is worth keeping of it is in long-term memory.",
    "deleted": "The session and all that was made from it are deleted. Rows: {count}.",
    "remembered": "The memory is stored.",
    "changed": "The new version is stored; the old one stays in the history.",
    "pinned": "The memory is pinned: it enters every prompt.",
    "unpinned": "The memory is not pinned any more.",
    "forgotten": "The memory is forgotten. Versions deleted: {count}.",
    "retried": "Jobs that are tried again now: {count}.",
    "answered": "The answer is stored.",
}


def notice_of(request: Request, t: Translate) -> str | None:
    """Return the text that ``?notice=`` names, or None."""
    text = NOTICES.get(request.query_params.get("notice", ""))
    if text is None:
        return None
    count = request.query_params.get("count", "0")
    return t(text, count=count if count.isdecimal() and len(count) < 16 else "0")


def after_write(
    request: Request, path: str, notice: str, *, anchor: str = "", **query: Any
) -> RedirectResponse:
    """Return the way on to a page after a write (Post/Redirect/Get); the user goes with it."""
    user = request.query_params.get("user")
    given = {"user": user, "notice": notice, **query}
    text = urlencode({name: value for name, value in given.items() if value is not None})
    return RedirectResponse(f"{path}?{text}{anchor}", 303)
