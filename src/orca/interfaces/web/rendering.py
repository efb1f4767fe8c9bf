"""Pages from templates: what every one of them is given, and what is escaped and how."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from orca.interfaces.web.guard import CSRF_FIELD, cookie_attributes
from orca.interfaces.web.i18n import LANGUAGE_COOKIE, LANGUAGES, language_of, translator
from orca.interfaces.web.keys import session_key
from orca.interfaces.web.state import state_of, visitor_of

HERE = Path(__file__).parent
LANGUAGE_SECONDS = 365 * 24 * 3600

NAVIGATION = (("/", "Overview"),)
"""Path and name of each page in the main navigation."""


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,  # in every template, whatever its name
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["session_key"] = session_key
    environment.filters["iso"] = _iso
    return environment


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
    """Return a page. Every template has ``t``, ``lang``, ``user``, ``link``, ``csrf_token`` and the like."""
    state = state_of(request)
    language = language_of(request, "zh" if state.settings.cli.language == "zh" else "en")
    visitor = visitor_of(request)
    user = request.query_params.get("user") or "default"

    def link(path: str, **query: Any) -> str:
        """Return a path with its query; the user goes with it where it is not the default one."""
        given = {"user": None if user == "default" else user, **query}
        text = urlencode({name: value for name, value in given.items() if value is not None})
        return f"{path}?{text}" if text else path

    text = _ENVIRONMENT.get_template(template).render(
        t=translator(language),
        lang=language,
        languages=LANGUAGES,
        user=user,
        link=link,
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
    if request.query_params.get("lang") == language:
        cookie = f"{LANGUAGE_COOKIE}={language}"
        attributes = cookie_attributes(request.url.scheme, seconds=LANGUAGE_SECONDS)
        response.headers.append("Set-Cookie", cookie + attributes)
    return response


def error_page(request: Request, status: int, detail: str) -> Response:
    """Return a page that says what went wrong and what to do."""
    known = {404: "There is nothing at this address.", 405: "This cannot be done here."}
    return page(
        request,
        "error.html",
        status=status,
        code=status,
        phrase=HTTPStatus(status).phrase,
        explanation=known.get(status),
        detail=detail,
    )


def _iso(moment: datetime | None) -> str:
    return "" if moment is None else moment.isoformat(timespec="seconds")


_ENVIRONMENT = _environment()
