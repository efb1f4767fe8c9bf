"""The OpenAPI document: complete, and what the server does is what it says."""

from __future__ import annotations

import logging

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.config import SchemathesisConfig

from orca import Scope, open_memory
from orca.interfaces.web.api.document import describe
from orca.interfaces.web.app import create_app
from orca.testing import FakeEmbedder

from .conftest import API, BASE, BEARER, PLENTY, SCOPE, TOKEN, client

EXAMPLES = 10
"""Requests tried for each operation."""

load_all_checks()
memory = open_memory(":memory:", embedder=FakeEmbedder(dimensions=8), chat_model=None)
for number in range(3):
    memory.observe(scope=SCOPE, role="user", content=f"message number {number}")
    memory.remember(scope=Scope(), content=f"memory number {number}")
app = create_app(memory, token=TOKEN, limits=PLENTY)
DOCUMENT = describe(app, "0")
# The stream of events never ends, so nothing that reads an answer to its end can try it.
FINITE = {path: operations for path, operations in DOCUMENT["paths"].items() if path != f"{API}/events"}
schema = schemathesis.openapi.from_dict({**DOCUMENT, "paths": FINITE}, config=SchemathesisConfig())
schema.app = app
OPERATIONS = [result.ok() for result in schema.get_all_operations()]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_schemathesis_finds_nothing(operation: schemathesis.APIOperation) -> None:  # type: ignore[type-arg]
    logging.getLogger("schemathesis").setLevel(logging.ERROR)

    @given(case=operation.as_strategy())
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def check(case: schemathesis.Case) -> None:
        # A cursor is opaque: no schema tells which texts are ours, so that one made up may be refused.
        made_up = [CHECKS.get_one("positive_data_acceptance")] if "cursor" in (case.query or {}) else []
        case.call_and_validate(base_url=BASE, headers=BEARER, excluded_checks=made_up)

    check()


def test_every_operation_says_what_it_does_and_how_it_fails() -> None:
    for path, operations in DOCUMENT["paths"].items():
        for method, operation in operations.items():
            assert operation["description"], path
            responses = operation["responses"]
            assert {"401", "403", "422", "429", "500", "503"} <= responses.keys()
            assert ("404" in responses) >= ("{" in path)
            assert ("413" in responses) == (method != "get")
            for status, response in responses.items():
                if int(status) >= 400:
                    assert list(response["content"]) == ["application/problem+json"]
    assert "HTTPValidationError" not in DOCUMENT["components"]["schemas"]


def test_the_document_is_served() -> None:
    served = client(app, **BEARER).get(API + "/openapi.json").json()
    assert served["paths"].keys() == DOCUMENT["paths"].keys()
    resources = (
        "sessions",
        "messages",
        "memories",
        "recall",
        "context",
        "runs",
        "jobs",
        "status",
        "map",
        "events",
    )
    assert {f"{API}/{name}" for name in resources} <= served["paths"].keys()
