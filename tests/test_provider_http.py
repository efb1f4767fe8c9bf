import asyncio
import gc
import pickle

import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orca.errors import ConfigError, ProviderError, ProviderResponseError
from orca.provider_http import MAX_RETRY_AFTER, Endpoint, retry_after
from orca.testing import Reply, ScriptedServer
from orca.text.reasoning import split_reasoning
from orca.values import Secret


@pytest.fixture
def server():
    with ScriptedServer() as server:
        yield server


def ask(endpoint):
    with endpoint.errors("/embeddings"):
        return endpoint.client.embeddings.with_raw_response.create(
            model="m", input=["a"], encoding_format="float"
        ).http_response.content


def test_the_key_is_sent_and_never_shown(server):
    endpoint = Endpoint(base_url=server.base_url, api_key=Secret("sk-1234567"), timeout=5)
    server.script(Reply({"message": "bad sk-1234567"}, status=400))
    with pytest.raises(ProviderError) as caught:
        ask(endpoint)
    assert server.requests[0].headers["authorization"] == "Bearer sk-1234567"
    assert "sk-1234567" not in str(caught.value) + repr(endpoint)
    endpoint.close()


def test_a_password_in_the_address_is_not_shown():
    endpoint = Endpoint(base_url="http://me:hunter2@localhost:1/v1", api_key=None, timeout=5)
    with pytest.raises(ProviderError) as caught:
        ask(endpoint)
    assert "hunter2" not in str(caught.value) + repr(endpoint)
    endpoint.close()
    with pytest.raises(ConfigError) as refused:
        Endpoint(base_url="ftp://me:hunter2@localhost/v1", api_key=None, timeout=5)
    assert "hunter2" not in str(refused.value)


def test_a_closed_endpoint_opens_again(server):
    endpoint = Endpoint(base_url=server.base_url, api_key=None, timeout=5)
    for _ in range(2):
        assert ask(endpoint)
        endpoint.close()
        endpoint.close()


def test_a_forgotten_endpoint_leaves_no_connection_open(server):
    endpoint = Endpoint(base_url=server.base_url, api_key=None, timeout=5)
    ask(endpoint)
    http_client = endpoint.client._client
    del endpoint
    gc.collect()
    assert http_client.is_closed


def test_a_given_http_client_is_used_and_left_open(server):
    with openai.DefaultHttpxClient(headers={"X-Mine": "1"}, trust_env=False) as http_client:
        endpoint = Endpoint(base_url=server.base_url, api_key=None, timeout=5, http_client=http_client)
        ask(endpoint)
        endpoint.close()
        assert not http_client.is_closed


@pytest.mark.case(7)
def test_async_clients_follow_the_same_rules_in_any_loop(server, monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org")
    endpoint = Endpoint(base_url=server.base_url, api_key=None, timeout=5)

    async def chat():
        async with endpoint.async_client() as client:
            with endpoint.errors("/chat/completions"):
                return await client.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": "hi"}]
                )

    for _ in range(2):
        assert asyncio.run(chat()).choices[0].message.content == "ok"
    assert not {"authorization", "openai-organization"} & set(server.requests[0].headers)


@pytest.mark.case(15)
@given(st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms", "date"]), st.text(max_size=40)))
@settings(deadline=None)
def test_any_header_gives_a_wait_in_bounds_or_none(headers):
    wait = retry_after(headers)
    assert wait is None or 0 <= wait <= MAX_RETRY_AFTER


def test_partial_results_are_part_of_the_error():
    error = ProviderResponseError("x", faults={1: "zero"})
    assert (error.usable, error.faults, str(error)) == ({}, {1: "zero"}, "x")
    assert pickle.loads(pickle.dumps(ProviderResponseError("x"))).faults == {}


@given(st.text(alphabet="<>/think \n思", max_size=60))
@settings(deadline=None)
def test_splitting_reasoning_never_fails_nor_invents(text):
    reply, thinking = split_reasoning(text)
    assert reply in text
    assert thinking is None or thinking
    assert thinking is not None or reply == text or "<think>" in text or "</think>" in text
