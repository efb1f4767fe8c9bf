"""Pages from templates: what every one of them is given, and what is escaped and how."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from orca.config import Language
from orca.interfaces.web.formatting import FILTERS, GLOBALS
from orca.interfaces.web.guard import CSRF_FIELD, cookie_attributes
from orca.interfaces.web.i18n import LANGUAGE_COOKIE, LANGUAGES, Translate, language_of, reasons, translator
from orca.interfaces.web.keys import session_key
from orca.interfaces.web.labels import label_of
from orca.interfaces.web.notices import notice_of
from orca.interfaces.web.state import state_of, visitor_of

HERE = Path(__file__).parent
LANGUAGE_SECONDS = 365 * 24 * 3600

THEME_COOKIE = "orca_theme"
THEMES = ("auto", "light", "dark")

NAVIGATION = (
    ("/", "Overview", "o"),
    ("/sessions", "Sessions", "s"),
    ("/memories", "Memories", "m"),
    ("/recall", "Recall lab", "r"),
    ("/map", "Map", "p"),
    ("/chat", "Chat", "c"),
    ("/jobs", "Jobs", "j"),
    ("/settings", "Settings", "e"),
)
"""Path and name of each page in the main navigation, and the key that follows ``g`` to go there."""


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,  # in every template, whatever its name
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["session_key"] = session_key
    environment.filters.update(FILTERS)
    environment.globals.update(GLOBALS)
    return environment


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
    """Return a page. Every template has ``t``, ``lang``, ``user``, ``link``, ``csrf_token`` and the like."""
    language = spoken(request)
    visitor = visitor_of(request)
    user = request.query_params.get("user") or "default"
    theme = theme_of(request)
    t = translator(language)

    text = _ENVIRONMENT.get_template(template).render(
        t=t,
        **_helpers(request, t, user),
        why=reasons(language),
        theme=theme,
        themes=THEMES,
        notice=notice_of(request, t),
        lang=language,
        languages=LANGUAGES,
        user=user,
        path=request.url.path,
        query=dict(request.query_params),
        navigation=NAVIGATION,
        csrf_field=CSRF_FIELD,
        csrf_token=visitor.csrf_token,
        signed_in=visitor.signed_in,
        **values,
    )
    response = HTMLResponse(text, status)
    response.headers["Content-Language"] = language
    response.headers["Vary"] = "Accept-Language, Cookie"
    for name, chosen in ((LANGUAGE_COOKIE, language), (THEME_COOKIE, theme)):
        if request.query_params.get(name.removeprefix("orca_")) == chosen:
            attributes = cookie_attributes(request.url.scheme, seconds=LANGUAGE_SECONDS)
            response.headers.append("Set-Cookie", f"{name}={chosen}{attributes}")
    return response


def spoken(request: Request) -> Language:
    """Return the language to answer a request in."""
    return language_of(request, "zh" if state_of(request).settings.cli.language == "zh" else "en")


def _helpers(request: Request, t: Translate, user: str) -> dict[str, Callable[..., str]]:
    """Return the functions that every template has."""

    def link(path: str, **query: Any) -> str:
        """Return a path with its query; the user goes with it where it is not the default one."""
        given = {"user": None if user == "default" else user, **query}
        text = urlencode({name: value for name, value in given.items() if value is not None})
        return f"{path}?{text}" if text else path

    def here(**changes: Any) -> str:
        """Return this page's path with its query, changed by ``changes``; None takes a value away."""
        query = {**dict(request.query_params), "notice": None, "count": None, **changes}
        kept = [(name, value) for name, value in query.items() if value is not None]
        return f"{quote(request.url.path)}?{urlencode(kept)}" if kept else quote(request.url.path)

    def say(value: str) -> str:
        """Return what a value, such as a kind or a state, is called."""
        return t(label_of(value))

    def many(count: int, one: str, more: str) -> str:
        """Return ``one`` or ``more`` with the number in it."""
        return t(one if count == 1 else more, count=f"{count:,}")

    return {"link": link, "here": here, "say": say, "many": many}


def theme_of(request: Request) -> str:
    """Return the theme to show: ``?theme=``, else the cookie, else the browser's."""
    for wanted in (request.query_params.get("theme"), request.cookies.get(THEME_COOKIE)):
        if wanted in THEMES:
            return wanted
    return "auto"


def error_page(request: Request, status: int, detail: str) -> Response:
    """Return a page that says what went wrong and what to do."""
    known = {
        401: "Sign in first.",
        404: "There is nothing at this address.",
        405: "This cannot be done here.",
        500: "The fault is on this side, and the server's log says what it was.",
        503: "The store cannot be read or written at the moment.",
    }
    return page(
        request,
        "error.html",
        status=status,
        code=status,
        phrase=HTTPStatus(status).phrase,
        explanation=known.get(status),
        detail=detail,
    )


_ENVIRONMENT = _environment()
