"""Reranking by ``{base_url}/rerank``, as SiliconFlow, Jina, Cohere, vLLM and llama.cpp serve it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import httpx
import numpy as np

from orca.errors import ConfigError, ProviderError, ProviderResponseError
from orca.provider_http import Endpoint
from orca.text.normalize import clean
from orca.values import Secret

PATH = "/rerank"

MAX_DOCUMENTS = 32
"""Texts of one request. Half of what SiliconFlow takes as embedding inputs, since each is read with the query."""

DOCUMENT_CHARACTERS = 2_000
"""Longest text that is sent: with its query it stays within the 8,192 tokens of bge-reranker-v2-m3 in any script,
and within a second of reading for a whole request."""


class OpenAICompatibleReranker:
    """Scores texts against a query by a cross-encoder behind an API.

    Scores are matched by index and checked; one that is missing or no number is NaN. A request that is refused for
    its size or content is sent in halves, down to the single text, whose score is then NaN. ``timeout`` is seconds per
    request. Nothing is sent again from here. Raises ``ConfigError`` as ``Endpoint`` does.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: Secret | str | None = None,
        max_documents: int = MAX_DOCUMENTS,
        timeout: float = 5.0,
        http_client: Any | None = None,
    ) -> None:
        if max_documents < 1:
            raise ConfigError("max_documents must be at least 1")
        self._endpoint = Endpoint(
            base_url=base_url, api_key=api_key, timeout=timeout, http_client=http_client
        )
        self._model = model
        self._max_documents = max_documents

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model

    def rerank(self, query: str, documents: Sequence[str]) -> np.ndarray:
        """Return float64 ``[n]`` in [0, 1] or NaN, in the order given; see ``Reranker``."""
        cleaned = [_sendable(text) for text in documents]
        scores = np.full(len(documents), np.nan)
        places = [place for place, text in enumerate(cleaned) if text]
        asked = _sendable(query)
        if not asked:
            return scores
        for start in range(0, len(places), self._max_documents):
            self._fill(scores, asked, cleaned, places[start : start + self._max_documents])
        if places and np.isnan(scores).all():
            raise ProviderResponseError(f"{self._endpoint.shown_url}{PATH} gave no text a score")
        return _as_shares(scores)

    def close(self) -> None:
        """Let the connections go."""
        self._endpoint.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _fill(self, scores: np.ndarray, query: str, texts: Sequence[str], places: Sequence[int]) -> None:
        try:
            answer = self._request(query, [texts[place] for place in places])
        except ProviderError as error:
            if not error.refused:
                raise
            if len(places) > 1:
                half = len(places) // 2
                self._fill(scores, query, texts, places[:half])
                self._fill(scores, query, texts, places[half:])
            return
        for index, score in self._scores(answer, len(places)).items():
            scores[places[index]] = score

    def _request(self, query: str, texts: list[str]) -> Mapping[str, Any]:
        fields = {
            "model": self._model,
            "query": query,
            "documents": texts,
            "top_n": len(texts),
            "return_documents": False,
        }
        with self._endpoint.errors(PATH):
            answer = self._endpoint.client.post(PATH, cast_to=httpx.Response, body=fields)
        return self._endpoint.parse(answer.content, PATH)

    def _scores(self, answer: Mapping[str, Any], count: int) -> dict[int, float]:
        items = answer.get("results", answer.get("data"))
        if not isinstance(items, list):
            raise ProviderResponseError(f"{self._endpoint.shown_url}{PATH} answered without a list of scores")
        scores: dict[int, float] = {}
        for item in items:
            if not isinstance(item, Mapping):
                continue
            index, score = item.get("index"), item.get("relevance_score", item.get("score"))
            if type(index) is not int or not 0 <= index < count:
                continue  # results come sorted by score, so one without its index cannot be placed
            if isinstance(score, int | float) and not isinstance(score, bool) and math.isfinite(score):
                scores[index] = math.nan if index in scores else float(score)
        return scores


def _sendable(text: str) -> str:
    return clean(text).replace("\x00", " ").strip()[:DOCUMENT_CHARACTERS]


def _as_shares(scores: np.ndarray) -> np.ndarray:
    """Return scores in [0, 1]: as they are, or through the logistic function where a server gives raw logits."""
    known = scores[~np.isnan(scores)]
    if not len(known) or (known.min() >= 0 and known.max() <= 1):
        return scores
    shares: np.ndarray = 1 / (1 + np.exp(-np.clip(scores, -50, 50)))
    return shares
