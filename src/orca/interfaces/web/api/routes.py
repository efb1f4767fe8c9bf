"""All routes of the REST API, and its document."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse

from orca.interfaces.web.api import events, export, memories, messages, recall, runs, sessions, system
from orca.interfaces.web.api.document import describe

PREFIX = "/api/v1"

router = APIRouter(prefix=PREFIX)
for _module in (sessions, messages, memories, recall, runs, system, export, events):
    router.include_router(_module.router)


@router.get("/openapi.json", include_in_schema=False)
def get_document(request: Request) -> JSONResponse:
    """Return the OpenAPI document."""
    app = request.app
    if app.openapi_schema is None:
        app.openapi_schema = describe(app, metadata.version("orca-agent"))
    document: dict[str, Any] = app.openapi_schema
    return JSONResponse(document)
