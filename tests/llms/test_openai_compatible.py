import threading

import pytest

from orca.errors import (
    ConfigError,
    ProviderError,
    ProviderResponseError,
    ProviderTimeoutError,
    RateLimitError,
)
from orca.llms.openai_compatible import OpenAICompatibleModel
from orca.testing import Reply, ScriptedServer, chat_reply

ASK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "你好"}]
SCHEMA = {"type": "object", "properties": {"facts": {"type": "array"}}}


@pytest.fixture
def server():
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def make(server):
    made = []

    def make(**settings):
        made.append(OpenAICompatibleModel(**({"base_url": server.base_url, "model": "m"} | settings)))
        return made[-1]

    yield make
    for model in made:
        model.close()


def test_a_reply(server, make):
    completion = make(api_key="k").complete(ASK, max_tokens=50)
    assert (completion.text, completion.finish_reason) == ("ok", "stop")
    assert (completion.prompt_tokens, completion.completion_tokens) == (7, 3)
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.body == {"model": "m", "messages": ASK, "max_tokens": 50}
    assert request.headers["authorization"] == "Bearer k"


@pytest.mark.parametrize(
    ("content", "apart", "text", "reasoning"),
    [
        ("<think>hm</think>\n\nyes", None, "yes", "hm"),
        ("<think>a</think><think>b</think>yes", None, "yes", "a\n\nb"),
        ("hm, so\n</think>\n\nyes", None, "yes", "hm, so"),
        ("yes", "hm", "yes", "hm"),
        ("<think></think>yes", None, "yes", None),
        ("the tag <think> opens it", None, "the tag <think> opens it", None),
        ("write </think> to close it", None, "write </think> to close it", None),
        ([{"type": "text", "text": "yes"}], None, "yes", None),
    ],
)
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_is_kept_apart(server, make, content, apart, text, reasoning, field):
    server.script(chat_reply(content, **{field: apart}))
    completion = make().complete(ASK)
    assert (completion.text, completion.reasoning) == (text, reasoning)


@pytest.mark.parametrize("content", [None, "", "  ", "<think>never closed", 7])
def test_an_empty_reply_is_an_error(server, make, content):
    server.script(chat_reply(content, finish_reason="length"))
    with pytest.raises(ProviderResponseError, match="length"):
        make().complete(ASK)


def test_tool_calls_need_no_text(server, make):
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    server.script(chat_reply(None, tool_calls=[call], finish_reason="tool_calls"))
    assert make().complete(ASK).tool_calls == [call]


def test_a_schema_is_sent_in_the_apis_own_way(server, make):
    make().complete(ASK, json_schema=SCHEMA)
    assert server.requests[0].body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": SCHEMA},
    }


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("refusals", [1, 2])
def test_a_refused_schema_goes_into_the_prompt_and_that_is_remembered(server, make, status, refusals):
    server.script(*[Reply(status=status)] * refusals)
    model = make()
    model.complete(ASK, json_schema=SCHEMA)
    model.complete(ASK[1:], json_schema=SCHEMA)
    assert len(server.requests) == refusals + 2
    last, again = (request.body for request in server.requests[-2:])
    assert last.get("response_format") == again.get("response_format")
    assert last.get("response_format") == ({"type": "json_object"} if refusals == 1 else None)
    for body in (last, again):
        assert [message["role"] for message in body["messages"]] == ["system", "user"]
        assert '"facts"' in body["messages"][0]["content"]
    assert ASK[0]["content"] == "Be brief."


def test_refused_messages_teach_nothing_about_formats(server, make):
    server.script(*[Reply(status=400)] * 3)
    model = make()
    with pytest.raises(ProviderError) as caught:
        model.complete(ASK, json_schema=SCHEMA)
    assert caught.value.refused
    model.complete(ASK, json_schema=SCHEMA)
    assert server.requests[-1].body["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(status=429, headers={"Retry-After": "3"}), RateLimitError),
        (Reply(status=500), ProviderError),
        (Reply(status=401), ProviderError),
        (Reply(hang=True), ProviderTimeoutError),
        (Reply(status=504), ProviderTimeoutError),
        (Reply("<html>"), ProviderResponseError),
        (Reply({"error": {"message": "over capacity"}}), ProviderResponseError),
        (Reply({"choices": []}), ProviderResponseError),
        (Reply({"choices": [{"message": None}]}), ProviderResponseError),
        (Reply({"choices": "x"}), ProviderResponseError),
    ],
)
def test_failures_in_orcas_words(server, make, reply, error):
    server.script(reply)
    with pytest.raises(error) as caught:
        make(timeout=0.3, api_key="sk-secret").complete(ASK, json_schema=SCHEMA)
    assert "sk-secret" not in str(caught.value)
    assert len(server.requests) == 1


def test_odd_usage_counts_as_nothing(server, make):
    server.script(Reply({"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": None}}))
    assert make().complete(ASK).prompt_tokens == 0


@pytest.mark.case(8)
def test_half_an_emoji_does_not_stop_the_request(server, make):
    server.script(chat_reply("back \ud83d"))
    completion = make().complete([{"role": "user", "content": [{"type": "text", "text": "half \ud83d"}]}])
    completion.text.encode("utf-8")
    assert "\ufffd" in server.requests[0].raw.decode("utf-8")


@pytest.mark.case(1)
def test_only_the_configured_server_is_called(server, make, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "stray")
    make(base_url=server.url).complete(ASK)
    assert "authorization" not in server.requests[0].headers
    with pytest.raises(ConfigError, match="needs an API key"):
        make(base_url="https://api.example.com/v1")


def test_openai_itself_gets_the_new_name_of_the_limit():
    model = OpenAICompatibleModel(base_url="https://api.openai.com/v1", model="m", api_key="k")
    assert model._limit_field == "max_completion_tokens"


def test_many_threads_share_one_model(server, make):
    model = make()
    threads = [threading.Thread(target=model.complete, args=(ASK,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(server.requests) == 8
