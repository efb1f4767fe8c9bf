"""The gate in front of every route."""

from __future__ import annotations

import logging
import re

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from orca.interfaces.web.app import create_app
from orca.interfaces.web.limits import Limits, Rate
from orca.memory.manager import MemoryManager

from .conftest import API, BEARER, PLENTY, TOKEN, client

CSRF = "X-CSRF-Token"


def csrf(browser: TestClient) -> dict[str, str]:
    return {CSRF: browser.get(API + "/csrf").json()["token"]}


@pytest.mark.case(9)
def test_no_route_answers_to_a_foreign_name(browser: TestClient) -> None:
    checked = 0
    for path in [
        *browser.get(API + "/openapi.json").json()["paths"],
        "/",
        "/login",
        "/static/orca.js",
        "/nope",
    ]:
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"):
            answer = browser.request(
                method, path.replace("{id}", "1").replace("{key}", "x"), headers={"Host": "evil.example"}
            )
            assert answer.status_code == 403
            assert "bob" not in answer.text
            checked += 1
    assert checked > 150


@pytest.mark.case(9)
def test_a_foreign_page_reads_nothing_and_writes_nothing(browser: TestClient) -> None:
    evil = {"Origin": "http://evil.example"}
    read = browser.get(API + "/memories", headers=evil)
    assert read.status_code == 200
    assert not [name for name in read.headers if name.startswith("access-control")]
    preflight = browser.options(API + "/memories", headers={**evil, "Access-Control-Request-Method": "POST"})
    assert not [name for name in preflight.headers if name.startswith("access-control")]
    for headers in (evil, {**evil, **csrf(browser)}, {"Origin": "null", **csrf(browser)}):
        for method, path in (("POST", "/memories"), ("DELETE", "/memories/1"), ("DELETE", "/sessions/trip")):
            assert (
                browser.request(method, API + path, headers=headers, json={"content": "x"}).status_code == 403
            )
    assert len(browser.get(API + "/memories").json()["items"]) == len(read.json()["items"])


@pytest.mark.case(9)
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_another_site_embeds_is_refused_and_links_are_followed(browser: TestClient, site: str) -> None:
    embedded = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
    assert browser.get(API + "/memories", headers=embedded).status_code == 403
    followed = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
    assert browser.get("/", headers=followed).status_code == 200
    assert browser.post("/logout", headers={**followed, **csrf(browser)}).status_code == 403


@pytest.mark.case(9)
def test_a_write_needs_the_token_of_its_own_session(browser: TestClient, filled: MemoryManager) -> None:
    new = {"content": "likes tea"}
    assert browser.post(API + "/memories", json=new).status_code == 403
    given = csrf(browser)
    assert browser.post(API + "/memories", json=new, headers=given).status_code == 201
    assert browser.post(API + "/memories", json=new, headers={CSRF: "0" * 64}).status_code == 403
    other = client(browser.app)  # type: ignore[arg-type]
    other.get("/")
    assert other.post(API + "/memories", json=new, headers=given).status_code == 403
    assert browser.post(API + "/memories", json=new, headers={"Authorization": "Bearer x"}).status_code == 403


def test_a_page_writes_through_a_proxy_that_speaks_tls(filled: MemoryManager) -> None:
    app = create_app(filled, limits=PLENTY, allowed_hosts=["memory.example"])
    browser = client(app, Host="memory.example", Origin="https://memory.example")
    given = csrf(browser)
    assert browser.post(API + "/memories", json={"content": "likes tea"}, headers=given).status_code == 201


def test_with_a_token_nothing_is_shown_without_it(filled: MemoryManager) -> None:
    app = create_app(filled, token=TOKEN, limits=PLENTY)
    stranger = client(app)
    paths = stranger.get(API + "/openapi.json")
    assert paths.status_code == 401
    assert paths.headers["www-authenticate"] == "Bearer"
    for path in client(app, **BEARER).get(API + "/openapi.json").json()["paths"]:
        for method in ("GET", "POST", "DELETE"):
            assert (
                stranger.request(method, path.replace("{id}", "1").replace("{key}", "trip")).status_code
                == 401
            )
    for wrong in ("Bearer nope", "Bearer ", "Basic b3Blbi1zZXNhbWU="):
        assert stranger.get(API + "/status", headers={"Authorization": wrong}).status_code == 401
    assert stranger.get("/loginx", follow_redirects=False).headers["location"] == "/login?next=%2Floginx"
    page = stranger.get("/?user=a%2Fb", follow_redirects=False)
    assert (page.status_code, page.headers["location"]) == (303, "/login?next=%2F%3Fuser%3Da%252Fb")


def test_signing_in_and_out(filled: MemoryManager) -> None:
    browser = client(create_app(filled, token=TOKEN, limits=PLENTY))
    form = browser.get("/login?next=/%3Fuser=bob").text
    field = re.search(r'name="csrf_token" value="(\w+)"', form)
    assert field is not None
    filled_in = {"csrf_token": field[1], "token": "wrong", "next": "/?user=bob"}
    assert browser.post("/login", data={**filled_in, "csrf_token": ""}).status_code == 403
    assert browser.post("/login", data=filled_in).status_code == 403
    assert browser.get(API + "/status").status_code == 401
    before = browser.cookies["orca_session_8420"]
    done = browser.post("/login", data={**filled_in, "token": TOKEN}, follow_redirects=False)
    assert (done.status_code, done.headers["location"]) == (303, "/?user=bob")
    cookie = done.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert browser.cookies["orca_session_8420"] != before
    assert browser.get(API + "/status").status_code == 200
    assert browser.post("/logout", headers=csrf(browser), follow_redirects=False).status_code == 303
    assert browser.get(API + "/status").status_code == 401


def test_tokens_cannot_be_tried_out(filled: MemoryManager) -> None:
    limits = Limits(wrong_tokens=Rate(burst=3, per_second=1e-6))
    stranger = client(create_app(filled, token=TOKEN, limits=limits))
    wrong = {"Authorization": "Bearer nope"}
    answers = [stranger.get(API + "/status", headers=wrong).status_code for _ in range(4)]
    assert answers == [401, 401, 401, 429]
    assert stranger.get(API + "/status", headers=BEARER).status_code == 429
    given = csrf(client(create_app(filled)))
    assert stranger.post("/login", data={"token": TOKEN}, headers=given).status_code == 429


def test_a_client_that_asks_too_often_has_to_wait(memory: MemoryManager) -> None:
    eager = client(create_app(memory, limits=Limits(requests=Rate(burst=2, per_second=0.1))))
    answers = [eager.get("/login") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert int(answers[2].headers["retry-after"]) > 0


def test_large_bodies_are_refused(api: TestClient) -> None:
    def chunks() -> object:
        for _ in range(20):
            yield b" " * 100_000

    assert api.post(API + "/memories", content=b" " * 1_000_001).status_code == 413
    streamed = api.post(API + "/memories", content=chunks())  # type: ignore[arg-type]
    assert streamed.status_code == 413
    assert streamed.headers["content-type"] == "application/problem+json"
    assert api.post(API + "/memories", content=b"", headers={"Content-Length": "-1"}).status_code == 413


@pytest.mark.parametrize("path", ["/", "/nope", "/static/orca.js", API + "/status", API + "/nope"])
def test_every_answer_has_the_headers(browser: TestClient, path: str) -> None:
    headers = browser.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert re.fullmatch(r"[0-9a-f]{16}", headers["x-request-id"])
    assert "server" not in headers


def test_refusals_have_them_too(browser: TestClient) -> None:
    refused = browser.get("/", headers={"Host": "evil.example"})
    assert refused.headers["x-frame-options"] == "DENY"


def test_a_fault_tells_nothing_and_is_logged_without_its_text(
    browser: TestClient,
    filled: MemoryManager,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(**_: object) -> None:
        raise RuntimeError("the words of a message")

    monkeypatch.setattr(filled, "recall", fail)
    with caplog.at_level(logging.DEBUG):
        answer = browser.get(API + "/recall", params={"q": "asked in confidence"})
    assert answer.status_code == 500
    problem = answer.json()
    assert answer.headers["x-request-id"] in problem["detail"]
    for secret in ("Traceback", ".py", "words of a message", "RuntimeError"):
        assert secret not in answer.text
    assert "RuntimeError at " in caplog.text
    assert "words of a message" not in caplog.text
    assert "in confidence" not in caplog.text


def test_web_sockets_are_closed(browser: TestClient) -> None:
    with pytest.raises(WebSocketDisconnect) as closed, browser.websocket_connect("/api/v1/events"):
        pass
    assert closed.value.code == 1008
