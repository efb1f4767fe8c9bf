import threading

import httpx
import pytest

from orca.testing import Reply, ScriptedServer, chat_reply


@pytest.fixture
def server():
    with ScriptedServer(dimensions=4, max_inputs=2) as server:
        yield server


@pytest.fixture
def client(server):
    with httpx.Client(base_url=server.base_url, trust_env=False) as client:
        yield client


def test_the_defaults_are_siliconflows(server, client):
    def ask(*texts):
        return client.post("/embeddings", json={"model": "m", "input": texts})

    assert [item["index"] for item in ask("a", "b").json()["data"]] == [0, 1]
    assert (ask("a", "b", "c").status_code, ask("a", "b", "c").json()["code"]) == (413, 20042)
    assert (ask("").status_code, ask("").json()["code"]) == (400, 20015)
    assert client.get("/models").status_code == 404
    assert client.post("/chat/completions", json={}).json()["choices"][0]["message"]["content"] == "ok"
    assert server.requests[0].body == {"model": "m", "input": ["a", "b"]}


def test_a_script_comes_before_the_defaults(server, client):
    server.script(
        Reply("no", status=503, headers={"Retry-After": "1"}), lambda _: None, lambda _: chat_reply("hi")
    )
    first = client.post("/chat/completions", json={})
    assert (first.status_code, first.text, first.headers["retry-after"]) == (503, "no", "1")
    replies = [client.post("/chat/completions", json={}).json() for _ in range(2)]
    assert [reply["choices"][0]["message"]["content"] for reply in replies] == ["ok", "hi"]


def test_an_answer_waits_for_its_event(server, client):
    go = threading.Event()
    server.script(Reply({}, wait=go))
    answers = []
    thread = threading.Thread(target=lambda: answers.append(client.post("/chat/completions", json={})))
    thread.start()
    assert server.wait_for_requests(1)
    assert not answers
    go.set()
    thread.join()
    assert answers[0].status_code == 200


def test_a_stream_arrives_piece_by_piece(server, client):
    go = threading.Event()
    server.script(Reply(stream=[{"n": 1}, go, {"n": 2}, "data: [DONE]\n\n"]))
    with client.stream("POST", "/chat/completions", json={}) as response:
        lines = response.iter_lines()
        assert next(lines) == 'data: {"n": 1}'
        go.set()
        assert [line for line in lines if line] == ['data: {"n": 2}', "data: [DONE]"]


def test_closing_ends_whatever_hangs():
    before = set(threading.enumerate())
    server = ScriptedServer()
    server.script(Reply(hang=True), Reply(wait=threading.Event()))
    failures = []

    def ask():
        try:
            httpx.post(f"{server.base_url}/embeddings", json={"input": ["a"]}, trust_env=False)
        except httpx.HTTPError as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert server.wait_for_requests(2)
    server.close()
    server.close()
    for thread in threads:
        thread.join(10)
    assert failures
    assert set(threading.enumerate()) <= before
