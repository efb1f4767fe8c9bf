"""Every error as problem+json (RFC 9457) under ``/api/``, and as a page elsewhere. Nothing internal leaves here."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from orca.errors import (
    ConfigError,
    ConflictError,
    ContextOverflowError,
    NotFoundError,
    OrcaError,
    ProviderError,
    StoreUnavailableError,
)
from orca.interfaces.web.rendering import error_page

logger = logging.getLogger("orca.web")

MEDIA_TYPE = "application/problem+json"

_STATUS: tuple[tuple[type[OrcaError], int, str | None], ...] = (
    (NotFoundError, 404, None),
    (ConflictError, 409, None),
    (ConfigError, 422, None),
    (ContextOverflowError, 422, None),
    (StoreUnavailableError, 503, "the store cannot be read or written at the moment; orca status says why"),
    (ProviderError, 502, "the model's provider did not answer as it should"),
)
"""Status by class, and the words where the error's own may name files or addresses."""

_UNKNOWN = "something went wrong here; the server's log says what"


def problem(
    status: int,
    detail: str,
    *,
    errors: list[dict[str, Any]] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Return a problem document."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    if errors:
        body["errors"] = errors
    return JSONResponse(body, status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def refuse(request: Request, status: int, detail: str) -> Response:
    """Return an error in the form that fits the path that was asked for."""
    if request.url.path.startswith("/api/"):
        return problem(status, detail)
    return error_page(request, status, detail)


def status_of(error: OrcaError) -> tuple[int, str]:
    """Return the status of an error of the library, and what may be said about it."""
    for kind, status, words in _STATUS:
        if isinstance(error, kind):
            return status, words or str(error)
    return 500, _UNKNOWN


def install(app: FastAPI) -> None:
    """Let ``app`` answer every error in one form."""

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101 - what it is registered for
        response = refuse(request, error.status_code, error.detail)
        response.headers.update(error.headers or {})
        return response

    async def on_invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)  # noqa: S101 - as above
        if not request.url.path.startswith("/api/"):
            return refuse(request, 422, "a field is missing or has a value that cannot be used")
        # Neither the value nor its context is repeated: it may be a message's text, or not JSON at all.
        errors = [
            {"location": [str(part) for part in fault["loc"]], "message": str(fault["msg"])}
            for fault in error.errors()
        ]
        return problem(422, "the request has values that cannot be used", errors=errors)

    async def on_orca(request: Request, error: Exception) -> Response:
        assert isinstance(error, OrcaError)  # noqa: S101 - as above
        status, words = status_of(error)
        if status >= 500:
            logger.warning("%s was answered with %d", type(error).__name__, status)
        return refuse(request, status, words)

    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(OrcaError, on_orca)
