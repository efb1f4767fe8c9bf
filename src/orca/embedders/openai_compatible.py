"""Embeddings from any OpenAI-compatible API: SiliconFlow, OpenAI, Ollama, vLLM, llama.cpp and others."""

from __future__ import annotations

import base64
import binascii
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np

from orca.embedders._batch import Batch, to_unit
from orca.errors import (
    ConfigError,
    ProviderError,
    ProviderResponseError,
)
from orca.provider_http import Endpoint, is_passing
from orca.types import EmbeddingSpace
from orca.values import Secret

PATH = "/embeddings"

MAX_BATCH = 64
"""SiliconFlow's limit of inputs in a request; more is refused with 413, code 20042."""

INPUT_TOKENS = 8_192
"""The input limit of bge-m3, and of OpenAI's embedding models."""

SAFETY = 0.9
"""Share of the limit that the estimate may fill, because it is an estimate."""

TOKENS_PER_ASCII_CHARACTER = 0.4
"""High for English prose (0.25) and right for code; other characters count as a whole token, which XLM-R's
vocabulary (bge-m3) never exceeds."""

QUERY_PAUSE = 0.2
"""Seconds before a query that failed at once is sent once more; somebody is waiting for it."""

# `dimensions` is an error for models of a fixed width (bge-m3); these are known to be shortened on request.
_TAKES_DIMENSIONS = re.compile(
    r"qwen3-embedding|text-embedding-(3|v3|v4)|gemini-embedding|embedding-3", re.IGNORECASE
)


class OpenAICompatibleEmbedder:
    """Embeds through ``{base_url}/embeddings``.

    Every vector is matched by its index, checked and brought to unit length. A text without a usable vector
    raises ``ProviderResponseError`` whose ``usable`` and ``faults`` keep the others apart from it. A batch that is
    refused for its size or content raises ``ProviderError`` with ``refused``: send it in halves. Blank texts are
    never sent, and long ones are shortened to ``input_tokens``.

    ``timeout`` and ``query_timeout`` are seconds per request. Documents are never sent again from here, because the
    job table does that; a query is, once, where the failure was quick. Raises ``ConfigError`` as ``Endpoint`` does.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        dimensions: int,
        api_key: Secret | str | None = None,
        provider: str = "siliconflow",
        max_batch: int = MAX_BATCH,
        input_tokens: int = INPUT_TOKENS,
        timeout: float = 30.0,
        query_timeout: float = 5.0,
        query_prefix: str = "",
        document_prefix: str = "",
        http_client: Any | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if dimensions < 1 or max_batch < 1 or input_tokens < 1:
            raise ConfigError("dimensions, max_batch and input_tokens must be at least 1")
        self._endpoint = Endpoint(
            base_url=base_url, api_key=api_key, timeout=timeout, http_client=http_client
        )
        self._space = EmbeddingSpace(
            provider=provider,
            model=model,
            dimensions=dimensions,
            query_prefix=query_prefix,
            document_prefix=document_prefix,
        )
        self._max_batch = max_batch
        self._input_tokens = input_tokens
        self._query_timeout = min(query_timeout, timeout)
        self._sleep = sleep

    @property
    def space(self) -> EmbeddingSpace:
        """Provider, model, width and prefixes."""
        return self._space

    @property
    def max_batch(self) -> int:
        """The most texts of one request."""
        return self._max_batch

    @property
    def base_url(self) -> str:
        """The address in its final form, without a password."""
        return self._endpoint.shown_url

    def embed(self, texts: Sequence[str], *, kind: Literal["query", "document"]) -> np.ndarray:
        """Return float32 ``[n, dimensions]`` of unit length, in the order given.

        Raises ``RateLimitError``, ``ProviderTimeoutError``, ``ProviderResponseError`` or another ``ProviderError``.
        """
        batch = Batch(texts, space=self._space, kind=kind, max_batch=self._max_batch)
        inputs = [shorten(text, self._input_tokens) for text in batch.texts]
        if inputs:
            self._fill(batch, self._request_twice_if_query(inputs, kind))
        return batch.result()

    def close(self) -> None:
        """Let the connections go."""
        self._endpoint.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _request_twice_if_query(self, inputs: list[str], kind: str) -> Mapping[str, Any]:
        try:
            return self._request(inputs, kind)
        except ProviderError as error:
            if kind != "query" or not is_passing(error):
                raise
        self._sleep(QUERY_PAUSE)
        return self._request(inputs, kind)

    def _request(self, inputs: list[str], kind: str) -> Mapping[str, Any]:
        seconds = self._query_timeout if kind == "query" else self._endpoint.timeout
        fields: dict[str, Any] = {"input": inputs, "model": self._space.model, "encoding_format": "float"}
        if _TAKES_DIMENSIONS.search(self._space.model):
            fields["dimensions"] = self._space.dimensions
        with self._endpoint.errors(PATH):
            answer = self._endpoint.client.embeddings.with_raw_response.create(
                **fields, timeout=self._endpoint.timeouts(seconds)
            )
            content = answer.http_response.content
        return self._endpoint.parse(content, PATH)

    def _fill(self, batch: Batch, answer: Mapping[str, Any]) -> None:
        items = answer.get("data")
        count = len(batch.texts)
        if not isinstance(items, list):
            raise ProviderResponseError(f"{self.base_url}{PATH} answered without a list of vectors")
        places = _places(items, count)
        if places is None:
            raise ProviderResponseError(
                f"{self.base_url}{PATH} answered {len(items)} vectors for {count} texts, and which belongs to which "
                "cannot be told",
                faults=dict.fromkeys(range(batch.size), "the answer did not tell which vector is whose"),
            )
        for place, item in places.items():
            batch.set(place, to_unit(_numbers(item), self._space.dimensions))


def shorten(text: str, tokens: int) -> str:
    """Return the start of ``text`` that surely stays within ``tokens`` by a cautious estimate."""
    room = tokens * SAFETY
    if len(text) <= room:  # no character counts for more than one token
        return text
    for position, character in enumerate(text):
        room -= TOKENS_PER_ASCII_CHARACTER if character.isascii() else 1.0
        if room < 0:
            return text[: max(position, 1)]
    return text


def _places(items: list[Any], count: int) -> dict[int, Any] | None:
    # Position of the text → item, or None where this cannot be known. A server that left one text out and counted
    # on would give its vectors to the wrong texts, so an answer that is short without a gap is not believed.
    indexes = [item.get("index") if isinstance(item, Mapping) else None for item in items]
    known = [index for index in indexes if type(index) is int]
    if not known:  # llama.cpp and a few gateways give no index; then the order is all there is
        return dict(enumerate(items)) if len(items) == count else None
    if len(items) > count or (len(items) < count and sorted(known) == list(range(len(known)))):
        return None
    return {
        index: item
        for index, item in zip(indexes, items, strict=True)
        if type(index) is int and 0 <= index < count and known.count(index) == 1
    }


def _numbers(item: Any) -> Any:
    value = item.get("embedding") if isinstance(item, Mapping) else None
    if not isinstance(value, str):
        return value
    try:  # some servers send base64 whatever they are asked for
        return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
    except (binascii.Error, ValueError):
        return value
