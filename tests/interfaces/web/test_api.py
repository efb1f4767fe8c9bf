"""The REST API: pages, writes, scopes and errors."""

from __future__ import annotations

import csv
import io
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from orca import Scope
from orca.errors import NotFoundError, StoreUnavailableError
from orca.interfaces.web.keys import session_key, session_of
from orca.memory.manager import MemoryManager

from .conftest import API, Get

ODD = [
    "../../x",
    "/etc/passwd",
    "CON",
    "a\x00b",
    "a/b",
    "..",
    ".",
    "~x",
    "100%",
    "a b",
    "旅行",
    "?#",
    "x/messages",
    "é",
]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_a_key_is_one_safe_segment_and_its_own_id(session: str) -> None:
    key = session_key(session)
    assert session_of(key) == session
    assert key
    assert not set(key) & set("/\\?#%\x00 ")
    assert not key.startswith(".")


@pytest.mark.parametrize("key", ["~!", "~A", "~/w", "~_w8"])
def test_a_key_that_is_none(key: str) -> None:
    with pytest.raises(NotFoundError):
        session_of(key)


@pytest.mark.case(13)
@pytest.mark.parametrize("session", ODD)
def test_sessions_of_any_name(api: TestClient, filled: MemoryManager, session: str) -> None:
    filled.observe(scope=Scope(session=session), role="user", content="hello there")
    found = {row["id"]: row["key"] for row in api.get(API + "/sessions").json()["items"]}
    path = f"{API}/sessions/{quote(found[session])}"
    assert api.get(path).json()["id"] == session
    assert [row["session"] for row in api.get(path + "/messages").json()["items"]] == [session]
    assert api.patch(path, json={"title": "新标题"}).json()["title"] == "新标题"
    assert api.post(path + "/end").json()["state"] == "ended"
    assert api.delete(path).json()["deleted"]["messages"] == 1
    assert api.get(path).status_code == 404


@pytest.mark.case(13)
def test_users_see_only_their_own(api: TestClient, get: Get) -> None:
    assert get("/users")["items"] == ["bob", "default"]
    mine, theirs = get("/messages")["items"], get("/messages", user="bob")["items"]
    assert {row["user"] for row in mine} == {"default"}
    assert [row["text"] for row in theirs] == ["bob's secret plan"]
    get(f"/messages/{theirs[0]['id']}", expect=404)
    get(f"/messages/{theirs[0]['id']}/neighbours", expect=404)
    (memory,) = get("/memories", user="bob")["items"]
    for method, path in (
        ("GET", ""), ("PATCH", ""), ("DELETE", ""), ("DELETE", "?dry_run=1"), ("GET", "/history"), ("PUT", "/pin"),
        ("DELETE", "/pin"),
    ):  # fmt: skip
        body = {"content": "mine now"} if method == "PATCH" else None
        assert api.request(method, f"{API}/memories/{memory['id']}{path}", json=body).status_code == 404
    run = get("/runs")["items"][0]
    get(f"/runs/{run['id']}", expect=404, user="bob")
    for path in ("/messages/search", "/recall", "/context"):
        assert "secret" not in json.dumps(get(path, q="memory plan"))
    assert "secret" not in api.get(API + "/export/messages").text
    assert "secret" not in json.dumps(get("/map"))
    assert get("/memories", user="bob' OR 1=1 --")["items"] == []
    assert get("/sessions", user="nobody")["items"] == []


def test_a_session_is_paged_both_ways(filled: MemoryManager, get: Get) -> None:
    scope = Scope(session="long")
    filled.observe_many(scope=scope, messages=[{"role": "user", "content": str(n)} for n in range(1, 8)])

    def said(page: dict[str, list[dict[str, str]]]) -> list[str]:
        return [row["text"] for row in page["items"]]

    newest = get("/sessions/long/messages", limit=3)
    assert (said(newest), newest["newer"]) == (["5", "6", "7"], None)
    older = get(newest["older"])
    assert said(older) == ["2", "3", "4"]
    oldest = get(older["older"])
    assert (said(oldest), oldest["older"]) == (["1"], None)
    assert said(get(oldest["newer"])) == ["2", "3", "4"]
    assert said(get(older["newer"])) == ["5", "6", "7"]
    middle = older["items"][1]["id"]
    around = get("/sessions/long/messages", around=middle, limit=3)
    assert said(around) == ["2", "3", "4"]
    assert said(get(around["newer"])) == ["5", "6", "7"]
    assert said(get("/sessions/long/messages", around=middle, limit=1)) == ["3"]
    get("/sessions/trip/messages", around=middle, expect=404)
    get("/sessions/none/messages", expect=404)


@pytest.mark.parametrize("path", ["/messages", "/sessions", "/memories?state=any", "/runs", "/jobs"])
def test_lists_are_paged_to_their_end(filled: MemoryManager, get: Get, path: str) -> None:
    for number in range(5):
        filled.observe(scope=Scope(session=f"s{number}"), role="user", content=f"message number {number}")
        filled.remember(scope=Scope(), content=f"memory number {number}")
    if path != "/jobs":  # the worker marks a message when it has a vector, between one page and the next
        assert filled.flush(30)
    everything = get(path + ("&" if "?" in path else "?") + "limit=200")
    assert everything["next"] is None
    rows, page = [], get(path + ("&" if "?" in path else "?") + "limit=2")
    while True:
        rows += page["items"]
        if page["next"] is None:
            break
        page = get(page["next"])
    if path != "/jobs":  # the worker is doing them meanwhile
        assert rows == everything["items"]


@pytest.mark.parametrize(
    "cursor", ["x", "!!", "W10", "WzFd" * 99, "e30", "WyJhIl0", "WzEuNV0", "Wy0xXQ", "WzFlOTk5XQ", "W3RydWVd"]
)
@pytest.mark.parametrize(
    "path", ["/messages", "/sessions", "/memories", "/runs", "/jobs", "/sessions/trip/messages"]
)
def test_cursors_of_others_are_refused(get: Get, path: str, cursor: str) -> None:
    assert "cursor" in get(path, cursor=cursor, expect=422)["detail"]


@pytest.mark.case(3)
@pytest.mark.parametrize("limit", ["-1", "0", "201", "1e9", "", "x"])
def test_limits_are_bounded(get: Get, limit: str) -> None:
    get("/messages", limit=limit, expect=422)
    get("/recall", q="x", limit=limit, expect=422)


@pytest.mark.case(3)
@pytest.mark.parametrize(
    "query",
    [
        "'",
        '"',
        "(",
        "*",
        "^",
        ":",
        "/",
        "@",
        "C++",
        "v1.2.3",
        "AND",
        "NEAR(",
        "",
        "   ",
        "x" * 10_000,
        "a\x00b",
        "multi-part AND",
    ],
)
def test_any_query_is_answered(get: Get, query: str) -> None:
    for path in ("/messages/search", "/recall", "/context"):
        get(path, q=query)
    if len(query) <= 1000:
        get("/sessions", q=query)
        get("/memories", q=query)


def test_filters(get: Get) -> None:
    assert {row["role"] for row in get("/messages", role="tool")["items"]} == {"tool"}
    assert [row["id"] for row in get("/sessions", q="TRI", state="open")["items"]] == ["trip"]
    assert get("/sessions", state="ended")["items"] == []
    assert {row["kind"] for row in get("/memories", kind="preference")["items"]} == {"preference"}
    assert get("/memories", q="window")["items"][0]["content"] == "User prefers window seats"
    assert get("/memories", state="superseded")["items"] == []
    assert get("/runs", status="failed")["items"] == []
    get("/memories", kind="rumour", expect=422)


def test_the_life_of_a_memory(api: TestClient, get: Get) -> None:
    added = api.post(API + "/memories", json={"content": "lives in Paris", "metadata": {"tag": "x"}})
    assert added.status_code == 201
    assert added.headers["location"] == f"{API}/memories/{added.json()['id']}"
    first = get(added.headers["location"])
    assert (first["state"], first["origin"], first["metadata"]["tag"]) == ("active", "user", "x")
    second = api.patch(added.headers["location"], json={"content": "lives in Rome"}).json()
    assert second["id"] != first["id"]
    assert get(added.headers["location"])["superseded_by"] == second["id"]
    path = f"{API}/memories/{second['id']}"
    assert [row["content"] for row in get(path + "/history")["items"]] == ["lives in Paris", "lives in Rome"]
    assert api.patch(added.headers["location"], json={"content": "lives in Oslo"}).status_code == 409
    assert api.put(path + "/pin").json()["pinned"] is True
    assert api.delete(path + "/pin").json()["pinned"] is False
    preview = api.delete(path, params={"dry_run": 1}).json()
    assert (preview["dry_run"], preview["deleted"], len(preview["versions"])) == (True, 2, 2)
    assert api.delete(path).json()["deleted"] == 2
    get(path, expect=404)


@pytest.mark.case(8)
def test_half_a_surrogate_pair_becomes_the_replacement_character(api: TestClient) -> None:
    body = b'{"content": "broken \\ud800 emoji"}'
    added = api.post(API + "/memories", content=body, headers={"Content-Type": "application/json"})
    assert added.json()["content"] == "broken \ufffd emoji"


@pytest.mark.parametrize(
    "body",
    [b"{}", b"", b"[]", b"null", b"{", b'{"content": ""}', b'{"content": " \\n"}', b'{"content": 1}', b"\xff",
     b'{"content": "x", "surprise\\ud800": 1}', b'{"content": "x", "kind": "rumour"}', b"[" * 100_000,
     b'{"content": "x", "expires_at": "0001-01-01T00:00:00+14:00"}', b'{"content": "x", "expires_at": "2026-01-01"}'],
)  # fmt: skip
def test_bodies_that_cannot_be_used(api: TestClient, body: bytes) -> None:
    answer = api.post(API + "/memories", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    problem = answer.json()
    assert problem["status"] == answer.status_code
    assert answer.headers["content-type"] == "application/problem+json"


def test_an_edit_of_nothing_makes_no_version(api: TestClient, get: Get) -> None:
    (memory, *_) = get("/memories")["items"]
    assert api.patch(f"{API}/memories/{memory['id']}", json={}).json() == memory


def test_recall_shows_lanes_order_and_relevance(get: Get) -> None:
    found = get("/recall", q="素食餐馆")
    hits = found["hits"]
    assert any("素食" in hit["content"] for hit in hits)
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    assert all(0 <= hit["relevance"] <= 1 and hit["lanes"] for hit in hits)


def test_the_prompt_and_its_ledger(api: TestClient, get: Get) -> None:
    built = get("/context", q="素食", session="trip", window_tokens=4096, system="Be brief.")
    assert built["messages"][0] == {"role": "system", "content": "Be brief."}
    assert built["tokens"] <= built["budget"] == built["shares"]["total"] == int(4096 * 0.6)
    assert all(line["reason"] for line in built["items"])
    asked = {"query": "素食", "session": "trip", "window_tokens": 4096, "system": "Be brief."}
    assert api.post(API + "/context", json=asked).json()["messages"] == built["messages"]
    assert api.post(API + "/context", json={"window_tokens": 0}).status_code == 422


def test_a_run_with_its_trace(get: Get) -> None:
    (run,) = get("/runs", session="trip")["items"]
    assert (run["agent"], run["status"], run["tokens"]) == ("scout", "done", 7)
    assert run["seconds"] >= 0
    trace = get(f"/runs/{run['id']}")
    assert [step["content"] for step in trace["messages"]] == ["looking at the menus"]
    page = get("/sessions/trip/messages")
    assert [row["id"] for row in page["runs"]] == [run["id"]]
    assert page["summaries"]
    assert {row["summary_id"] for row in page["items"]} >= {page["summaries"][0]["id"]}


def test_health(api: TestClient, get: Get) -> None:
    status = get("/status")
    assert status["counts"]["sessions"] == 2
    assert status["user_counts"]["sessions"] == 1
    assert status["embedder"]
    assert sum(day["messages"] for day in get("/activity")["items"]) == 4
    assert api.post(API + "/jobs/retry", json={"ids": [1]}).json() == {"released": 0}
    assert api.post(API + "/jobs/retry").status_code == 200
    assert {"older", "newer"} & get("/jobs").keys() == set()


def test_the_map_shows_what_has_a_vector(get: Get) -> None:
    points = get("/map")["items"]
    assert {point["record"] for point in points} == {"message", "memory"}
    assert all(-1 <= point[axis] <= 1 for point in points for axis in "xy")
    assert get("/map") == {"items": points}
    assert len(get("/map", limit=1)["items"]) <= 2


@pytest.mark.parametrize("what", ["sessions", "messages", "memories", "runs", "jobs"])
def test_exports_hold_what_the_lists_show(api: TestClient, get: Get, what: str) -> None:
    shown = get(f"/{what}")["items"]
    assert get(f"/export/{what}") == shown
    answer = api.get(f"{API}/export/{what}", params={"format": "csv"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == f'attachment; filename="orca-{what}.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.text.removeprefix("\ufeff"))))
    assert [row["id"] for row in rows] == [str(row["id"]) for row in shown]


def test_exports_of_more_than_a_page(filled: MemoryManager, get: Get) -> None:
    said = [{"role": "user", "content": str(number)} for number in range(450)]
    filled.observe_many(scope=Scope(session="long"), messages=said)
    texts = [row["text"] for row in get("/export/messages", session="long")]
    assert texts == [str(number) for number in reversed(range(450))]
    assert len(get("/export/messages")) == 454
    get("/export/messages", session="none", expect=404)


def test_a_cell_is_never_a_formula(filled: MemoryManager, api: TestClient) -> None:
    for sign in ("=", "+", "-", "@", "\t="):
        filled.observe(
            scope=Scope(session="calc"), role="user", content=sign + 'HYPERLINK("http://evil.example")'
        )
    text = api.get(API + "/export/messages", params={"session": "calc", "format": "csv"}).text
    rows = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))
    assert {row["text"][0] for row in rows} == {"'"}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nope", 404), ("GET", "/messages/x", 422), ("PUT", "/status", 405), ("GET", "/runs/99", 404),
     ("GET", "/sessions/a%2Fb", 404), ("POST", "/memories", 422), ("GET", "/messages/0", 422)],
)  # fmt: skip
def test_errors_have_one_form(api: TestClient, method: str, path: str, status: int) -> None:
    answer = api.request(method, API + path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json().keys() >= {"type", "title", "status", "detail"}
    assert (status == 405) == ("allow" in answer.headers)


@pytest.mark.case(23)
def test_a_store_that_is_away_is_no_fault_of_the_reader(
    api: TestClient, filled: MemoryManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise StoreUnavailableError("/home/alice/secret.db: disk full")

    monkeypatch.setattr(filled, "session", fail)
    answer = api.get(API + "/sessions/trip")
    assert answer.status_code == 503
    assert "secret" not in answer.text


@pytest.mark.case(8)
def test_metadata_comes_back_as_it_is_stored(api: TestClient) -> None:
    odd = b'{"content": "a\\ud800b", "metadata": {"k\\udfff": ["\\ud800", 1e999, {"deep": null}]}}'
    made = api.post(API + "/memories", content=odd, headers={"Content-Type": "application/json"})
    assert made.status_code == 201
    assert made.json()["content"] == "a\ufffdb"
    assert made.json()["metadata"] == {"k\ufffd": ["\ufffd", None, {"deep": None}]}
    nested = b'{"content": "x", "metadata": ' + b'{"a":' * 400 + b"1" + b"}" * 401
    refused = api.post(API + "/memories", content=nested, headers={"Content-Type": "application/json"})
    assert refused.status_code == 422
