"""The OpenAPI document: what FastAPI makes of the routes, with every error that any of them may answer."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from orca.interfaces.web.api.schemas import Problem
from orca.interfaces.web.guard import CSRF_HEADER, CSRF_PATH, SAFE_METHODS

DESCRIPTION = f"""Everything that one Orca memory holds. `user` chooses whose; nothing of another user is ever shown.

Where the server has an access token, send it as `Authorization: Bearer`. A write without it needs the token of
`GET {CSRF_PATH}`, with the cookie that comes with it, in the header `{CSRF_HEADER}`. Errors are problem documents
(RFC 9457). Lists come a page at a time, newest first: follow `next`."""

_ALWAYS = {
    401: "No access token, or a wrong one",
    403: "Refused",
    429: "Too many requests",
    500: "A fault here",
}
_WITH_PARAMETERS = {422: "A value that cannot be used"}
_WITH_PATH = {404: "There is no such row of this user"}
_WITH_BODY = {400: "The body cannot be read", 409: "The row has changed", 413: "The body is too large"}
_STORE = {503: "The store cannot be read or written at the moment"}


def describe(app: FastAPI, version: str) -> dict[str, Any]:
    """Return the OpenAPI document of an app."""
    document = get_openapi(
        title="Orca", version=version, description=DESCRIPTION, routes=app.routes, openapi_version="3.1.0"
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(problem.pop("$defs"))
    schemas["Problem"] = problem
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    components["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"bearer": []}, {}]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            _add_errors(path, method.upper(), operation)
    return document


def _add_errors(path: str, method: str, operation: dict[str, Any]) -> None:
    errors = {**_ALWAYS, **_STORE, **_WITH_PARAMETERS}
    if "{" in path or path.endswith("/messages"):
        errors |= _WITH_PATH
    if method not in SAFE_METHODS:
        errors |= _WITH_BODY
    for status, words in sorted(errors.items()):
        operation["responses"][str(status)] = {
            "description": words,
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
