"""Signing in with the access token, and out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from orca.interfaces.web.access import SESSION_SECONDS
from orca.interfaces.web.guard import cookie_attributes
from orca.interfaces.web.rendering import page
from orca.interfaces.web.state import state_of

router = APIRouter()


@router.get("/login")
def login(request: Request) -> Response:
    """Ask for the access token."""
    return page(request, "login.html", wrong=False, next=local_path(request.query_params.get("next")))


@router.post("/login")
def sign_in(
    request: Request,
    token: Annotated[str, Form()] = "",
    next_page: Annotated[str, Form(alias="next")] = "/",
) -> Response:
    """Check the access token and start a session that may see everything."""
    access = state_of(request).access
    target = local_path(next_page)
    if not access.right_token(token):
        return page(request, "login.html", status=403, wrong=True, next=target)
    response = RedirectResponse(target, 303)
    attributes = cookie_attributes(request.url.scheme, seconds=SESSION_SECONDS)
    response.headers.append("Set-Cookie", f"{access.cookie_name}={access.sign_in()}{attributes}")
    return response


@router.post("/logout")
def sign_out(request: Request) -> Response:
    """End the session of this browser."""
    response = RedirectResponse("/login", 303)
    name = state_of(request).access.cookie_name
    attributes = cookie_attributes(request.url.scheme, seconds=0)
    response.headers.append("Set-Cookie", f"{name}={attributes}")
    return response


def local_path(target: str | None) -> str:
    """Return a path of this server to go on to; anything that could lead elsewhere becomes the overview."""
    if target and target.startswith("/") and not target.startswith(("//", "/\\")) and target.isprintable():
        return target
    return "/"
