import json
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orca.embedders.openai_compatible import OpenAICompatibleEmbedder, shorten
from orca.errors import (
    ConfigError,
    ProviderError,
    ProviderResponseError,
    ProviderTimeoutError,
    RateLimitError,
)
from orca.testing import Reply, ScriptedServer, fake_vector

WIDTH = 64
ABC = ["alpha", "beta", "gamma"]


@pytest.fixture
def server():
    with ScriptedServer(dimensions=WIDTH) as server:
        yield server


@pytest.fixture
def make(server):
    made = []

    def make(**settings):
        settings = {
            "base_url": server.base_url,
            "model": "m",
            "dimensions": WIDTH,
            "sleep": lambda _: None,
        } | settings
        made.append(OpenAICompatibleEmbedder(**settings))
        return made[-1]

    yield make
    for embedder in made:
        embedder.close()


def bent(server, bend):
    """An answer whose items were changed by ``bend``."""
    return lambda request: Reply({"data": bend(server.items(request.texts))})


def expect(vectors, texts):
    for vector, text in zip(vectors, texts, strict=True):
        assert np.allclose(vector, fake_vector(text, WIDTH), atol=1e-6)


@pytest.mark.case(1)
def test_vectors_are_matched_by_index(server, make):
    server.script(bent(server, lambda items: [items[2], items[0], items[1]]))
    expect(make().embed(ABC, kind="document"), ABC)


@pytest.mark.case(1)
def test_without_any_index_the_order_counts(server, make):
    server.script(bent(server, lambda items: [{"embedding": item["embedding"]} for item in items]))
    expect(make().embed(ABC, kind="document"), ABC)


@pytest.mark.case(1)
@pytest.mark.parametrize(
    "bend",
    [
        lambda items: items[:2],
        lambda items: [items[0], items[2] | {"index": 1}],  # one left out, the rest counted on
        lambda items: [],
        lambda items: [*items, items[0] | {"index": 3}],
        lambda items: [{"embedding": item["embedding"]} for item in items[:2]],
    ],
)
def test_a_wrong_count_gives_nothing_away(server, make, bend):
    server.script(bent(server, bend))
    embedder = make()
    with pytest.raises(ProviderResponseError) as caught:
        embedder.embed(ABC, kind="document")
    assert not caught.value.usable
    expect(embedder.embed(ABC, kind="document"), ABC)


def bad_item(position, **change):
    return lambda items: [item | change if item["index"] == position else item for item in items]


@pytest.mark.case(1)
@pytest.mark.parametrize(
    "embedding",
    [
        None,
        [0.0] * WIDTH,
        [1e-30] * WIDTH,
        [float("nan")] + [1.0] * (WIDTH - 1),
        [float("inf")] + [1.0] * (WIDTH - 1),
        ["0.5"] * WIDTH,
        [True] * WIDTH,
        [None] * WIDTH,
        [[1.0]] * WIDTH,
        [1.0] * (WIDTH - 1),
        [1.0] * (WIDTH + 1),
        [10**400] * WIDTH,
        "not base64!",
        {},
        [],
        7,
    ],
    ids=lambda value: repr(value)[:20],
)
def test_one_bad_vector_leaves_the_others_usable(server, make, embedding):
    server.script(bent(server, bad_item(1, embedding=embedding)))
    with pytest.raises(ProviderResponseError) as caught:
        make().embed(ABC, kind="document")
    assert set(caught.value.faults) == {1}
    assert set(caught.value.usable) == {0, 2}
    expect([caught.value.usable[0], caught.value.usable[2]], ["alpha", "gamma"])


@pytest.mark.case(1)
@pytest.mark.parametrize("index", [0, 5, -1, None, "1", True, 1.0])
def test_a_bad_index_leaves_only_vectors_that_are_certain(server, make, index):
    server.script(bent(server, bad_item(1, index=index)))
    with pytest.raises(ProviderResponseError) as caught:
        make().embed(ABC, kind="document")
    assert 1 in caught.value.faults
    for position, vector in caught.value.usable.items():
        expect([vector], [ABC[position]])


@pytest.mark.case(1)
def test_a_gap_in_the_indexes_leaves_the_others_usable(server, make):
    server.script(bent(server, lambda items: [items[2], items[0]]))
    with pytest.raises(ProviderResponseError) as caught:
        make().embed(ABC, kind="document")
    assert set(caught.value.usable) == {0, 2}


def test_large_numbers_become_unit_vectors(server, make):
    server.script(bent(server, lambda items: [item | {"embedding": [1e200] * WIDTH} for item in items]))
    assert np.allclose(make().embed(["a"], kind="document"), WIDTH**-0.5)


@pytest.mark.case(12)
def test_a_wrong_width_names_both_widths(server, make):
    with pytest.raises(ProviderResponseError, match=f"{WIDTH} numbers, not 768"):
        make(dimensions=768).embed(ABC, kind="document")


@pytest.mark.case(1)
@pytest.mark.parametrize(
    "body",
    [
        b"<html>gateway</html>",
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"data": null}',
        b'{"data": {}}',
        b"\xff\xfe",
        b"[" * 99_999,
    ],
)
def test_garbage_is_a_response_error(server, make, body):
    server.script(Reply(body, headers={"Content-Type": "text/html"}))
    with pytest.raises(ProviderResponseError) as caught:
        make().embed(ABC, kind="document")
    assert not caught.value.usable


@pytest.mark.case(1)
@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/", "/v1/embeddings"])
def test_one_path_however_the_address_is_written(server, make, end):
    make(base_url=server.url + end).embed(["a"], kind="document")
    assert [request.path for request in server.requests] == ["/v1/embeddings"]


@pytest.mark.case(1)
@pytest.mark.parametrize("path", ["/api/v3", "/compatible-mode/v1", "/v1beta/openai/"])
def test_another_version_path_stands(server, make, path):
    server.script(bent(server, lambda items: items))
    make(base_url=server.url + path).embed(["a"], kind="document")
    assert server.requests[0].path == path.rstrip("/") + "/embeddings"


@pytest.mark.case(1)
def test_a_wrong_path_is_named(server, make):
    with pytest.raises(ProviderError, match=f"{server.url}/nowhere/embeddings.*base_url") as caught:
        make(base_url=f"{server.url}/nowhere").embed(["a"], kind="document")
    assert not caught.value.refused


@pytest.mark.case(1)
@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.example.com",
        "ftp://example.com",
        "http://",
        "https://a.com/v1?x=1",
        "http://[::1",
        "http://a b/v1",
        "http://localhost:99999",
        "http://localhost:x",
    ],
)
def test_an_address_that_is_none_is_a_config_error(url):
    with pytest.raises(ConfigError, match="base_url"):
        OpenAICompatibleEmbedder(base_url=url, model="m", dimensions=4, api_key="k")


@pytest.mark.case(1)
def test_a_remote_address_needs_a_key_and_a_local_one_does_not(server, make):
    with pytest.raises(ConfigError, match=r"https://api\.example\.com/v1 needs an API key"):
        make(base_url="https://api.example.com")
    make().embed(["a"], kind="document")
    assert "authorization" not in server.requests[0].headers


@pytest.mark.case(1)
def test_the_environment_decides_nothing(server, make, monkeypatch):
    for name, value in {
        "OPENAI_BASE_URL": "http://127.0.0.1:9/other",
        "OPENAI_API_KEY": "from-the-environment",
        "OPENAI_ORG_ID": "org",
        "OPENAI_PROJECT_ID": "project",
        "OPENAI_CUSTOM_HEADERS": "Authorization: Bearer stray\nX-Stray: 1",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "ALL_PROXY": "http://127.0.0.1:9",
    }.items():
        monkeypatch.setenv(name, value)
    make(api_key="mine").embed(["a"], kind="document")
    make().embed(["a"], kind="document")
    with_key, without = (request.headers for request in server.requests)
    assert with_key["authorization"] == "Bearer mine"
    assert "authorization" not in without
    assert not [
        name for name in with_key if name.startswith(("openai", "x-")) and name != "x-stainless-raw-response"
    ]


@pytest.mark.case(1)
def test_dimensions_are_sent_only_to_models_that_take_them(server, make):
    for model in ("Pro/BAAI/bge-m3", "Qwen/Qwen3-Embedding-8B", "text-embedding-3-small"):
        make(model=model).embed(["a"], kind="document")
    assert ["dimensions" in request.body for request in server.requests] == [False, True, True]
    assert server.requests[1].body["dimensions"] == WIDTH


@pytest.mark.case(11)
def test_prefixes_go_where_they_belong(server, make):
    prefixed = make(query_prefix="query: ", document_prefix="passage: ")
    for embedder in (prefixed, make()):
        embedder.embed(["a"], kind="query")
        embedder.embed(["a"], kind="document")
    assert [request.texts for request in server.requests] == [["query: a"], ["passage: a"], ["a"], ["a"]]
    assert prefixed.space.key != make().space.key


@pytest.mark.case(1)
def test_blank_texts_are_never_sent(server, make):
    embedder = make(query_prefix="query: ")
    with pytest.raises(ProviderResponseError):
        embedder.embed(["", " "], kind="query")
    assert server.requests == []


@pytest.mark.case(2)
@pytest.mark.parametrize("status", [400, 413, 422])
@pytest.mark.parametrize(
    "body", [b"", '{"message": "输入过多"}', '{"code": 20042}', "<p>too large</p>", '"text"', "[1]"]
)
def test_a_refusal_is_known_without_its_wording(server, make, status, body):
    server.script(Reply(body, status=status))
    with pytest.raises(ProviderError) as caught:
        make().embed(ABC, kind="document")
    assert caught.value.refused
    assert len(server.requests) == 1


@pytest.mark.case(2)
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": "1.5"}, 1.5),
        ({"Retry-After": "1500ms"}, 1.5),
        ({"retry-after-ms": "250", "Retry-After": "9"}, 0.25),
        ({"Date": "Thu, 01 Jan 2026 00:00:00 GMT", "Retry-After": "Thu, 01 Jan 2026 00:00:30 GMT"}, 30),
        ({"Date": "Thu, 01 Jan 2026 00:01:00 GMT", "Retry-After": "Thu, 01 Jan 2026 00:00:30 GMT"}, 0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "-5"}, None),
        ({"Retry-After": "9" * 400}, 86_400),
    ],
)
def test_a_rate_limit_says_how_long_to_wait(server, make, headers, seconds):
    server.script(Reply(status=429, headers=headers))
    with pytest.raises(RateLimitError) as caught:
        make().embed(["a"], kind="query")
    assert caught.value.retry_after == seconds
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [301, 401, 402, 403, 404, 405, 409, 500, 502, 503])
def test_other_failures_do_not_blame_the_request(server, make, status):
    server.script(
        Reply({"error": {"message": "key sk-secret is unknown"}}, status=status, headers={"Location": "/x"})
    )
    with pytest.raises(ProviderError) as caught:
        make(api_key="sk-secret").embed(["a"], kind="document")
    assert not caught.value.refused
    assert str(status) in str(caught.value)
    assert "sk-secret" not in str(caught.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize(("status", "tries"), [(500, 2), (503, 2), (401, 1), (404, 1), (413, 1)])
def test_a_query_is_sent_again_once_where_that_may_help(server, make, status, tries):
    server.script(*[Reply(status=status)] * 2)
    with pytest.raises(ProviderError):
        make().embed(["a"], kind="query")
    assert len(server.requests) == tries


@pytest.mark.case(12)
def test_a_query_after_a_passing_failure_succeeds(server, make):
    server.script(Reply(status=502))
    expect(make().embed(["alpha"], kind="query"), ["alpha"])


@pytest.mark.case(15)
@pytest.mark.parametrize("kind", ["query", "document"])
def test_a_server_that_hangs_is_a_timeout(server, make, kind):
    server.script(Reply(hang=True))
    with pytest.raises(ProviderTimeoutError):
        make(timeout=0.2, query_timeout=0.2).embed(["a"], kind=kind)
    assert len(server.requests) == 1


def test_a_server_that_is_not_there():
    with ScriptedServer() as gone:
        address = gone.base_url
    embedder = OpenAICompatibleEmbedder(base_url=address, model="m", dimensions=4, sleep=lambda _: None)
    with pytest.raises(ProviderError, match="cannot be reached"):
        embedder.embed(["a"], kind="query")
    embedder.close()


def test_an_answer_that_breaks_off(server, make):
    server.script(Reply(b'{"data": [', headers={"Content-Length": "9999"}))
    with pytest.raises(ProviderError, match="cannot be reached"):
        make().embed(["a"], kind="document")


@pytest.mark.case(8)
@pytest.mark.parametrize("text", ["half \ud83d emoji", "nul \x00 here", "\x01\x1f"])
def test_the_body_is_valid_json_whatever_the_text(server, make, text):
    make().embed([text], kind="query")
    sent = json.loads(server.requests[0].raw.decode("utf-8"))["input"][0]
    sent.encode("utf-8")
    assert "\x00" not in sent


@pytest.mark.case(2)
@pytest.mark.parametrize("text", ["记" * 50_000, "word " * 20_000, "😀" * 30_000])
def test_a_long_text_is_shortened_before_it_is_sent(server, make, text):
    make().embed([text], kind="query")
    sent = server.requests[0].texts[0]
    assert text.startswith(sent)
    assert sum(0.25 if character.isascii() else 1 for character in sent) <= 8192 * 0.9


@given(st.text(max_size=300), st.integers(1, 80))
@settings(deadline=None)
def test_a_shortened_text_is_a_start_of_the_text(text, tokens):
    short = shorten(text, tokens)
    assert text.startswith(short)
    assert bool(short) == bool(text)
    assert shorten(short, tokens) == short


@pytest.mark.case(1)
def test_many_threads_share_one_embedder(server, make):
    embedder = make()
    wrong = []

    def work(number):
        text = f"text{number}"
        if not np.allclose(embedder.embed([text], kind="document")[0], fake_vector(text, WIDTH), atol=1e-6):
            wrong.append(text)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(server.requests) == 12


@pytest.mark.parametrize(
    "settings", [{"dimensions": 0}, {"max_batch": 0}, {"timeout": 0}, {"timeout": float("nan")}]
)
def test_settings_that_cannot_work_are_refused(make, settings):
    with pytest.raises(ConfigError):
        make(**settings)


def test_a_key_with_a_line_break_inside_is_refused_without_showing_it(make):
    with pytest.raises(ConfigError) as caught:
        make(api_key="abc\ndef")
    assert "abc" not in str(caught.value)
