"""The embedder, the chat model and the clock of a test."""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from orca.errors import ConfigError, ProviderResponseError
from orca.protocols import Completion
from orca.text.analysis import STOP_TERMS, index_terms
from orca.text.normalize import clean
from orca.types import EmbeddingSpace


class FixedClock:
    """A clock that stands still until it is told to move. ``start`` is timezone-aware."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        if start.tzinfo is None:
            raise ConfigError("FixedClock needs a timezone-aware start")
        self._now = start.astimezone(UTC)
        self._lock = threading.Lock()

    def now(self) -> datetime:
        """Return the time it stands at, in UTC."""
        with self._lock:
            return self._now

    def advance(self, seconds: float) -> datetime:
        """Move by ``seconds``, backwards too, as real clocks do; return the new time."""
        with self._lock:
            self._now += timedelta(seconds=seconds)
            return self._now


class FakeEmbedder:
    """A deterministic embedder: texts that share words are near, others almost at right angles.

    Each index term (see ``orca.text.analysis``) is hashed into a vector of signs; a text is the normalised sum of
    its terms without stop words. ``calls`` records ``(texts, kind)``. ``fails`` may be set at any time: it gets
    each text, and returns an exception to raise for the whole call, or a true value (a reason, say) to leave this
    text without a vector, as ``ProviderResponseError`` tells; anything false lets the text pass.
    """

    def __init__(
        self,
        dimensions: int = 1024,
        *,
        model: str = "fake",
        provider: str = "fake",
        query_prefix: str = "",
        document_prefix: str = "",
        max_batch: int = 64,
        fails: Callable[[str], object] | None = None,
    ) -> None:
        self._space = EmbeddingSpace(
            provider=provider,
            model=model,
            dimensions=dimensions,
            query_prefix=query_prefix,
            document_prefix=document_prefix,
        )
        self._max_batch = max_batch
        self.fails = fails
        self.calls: list[tuple[tuple[str, ...], str]] = []

    @property
    def space(self) -> EmbeddingSpace:
        """The space that was asked for."""
        return self._space

    @property
    def max_batch(self) -> int:
        """The most texts of one call; more raise ``ConfigError``, as with the real ones."""
        return self._max_batch

    def embed(self, texts: Sequence[str], *, kind: Literal["query", "document"]) -> np.ndarray:
        """Return float32 ``[n, dimensions]`` of unit length, in the order given."""
        if isinstance(texts, str) or len(texts) > self._max_batch:
            raise ConfigError(f"one call takes a list of at most {self._max_batch} texts")
        self.calls.append((tuple(texts), kind))
        vectors: dict[int, np.ndarray] = {}
        faults: dict[int, str] = {}
        for position, text in enumerate(texts):
            failure = self.fails(text) if self.fails else None
            if isinstance(failure, Exception):
                raise failure
            if failure:
                faults[position] = failure if isinstance(failure, str) else "made to fail"
            elif not clean(text).replace("\x00", " ").strip():
                faults[position] = "a blank text has no vector"
            else:
                vectors[position] = fake_vector(text, self._space.dimensions)
        if faults:
            raise ProviderResponseError(
                f"{len(faults)} of {len(texts)} texts have no vector", usable=vectors, faults=faults
            )
        return np.array(list(vectors.values()), dtype=np.float32).reshape(len(texts), self._space.dimensions)


def fake_vector(text: str, dimensions: int) -> np.ndarray:
    """Return the unit vector float32 ``[dimensions]`` that ``FakeEmbedder`` gives to ``text``."""
    terms = index_terms(text)
    terms = [term for term in terms if term not in STOP_TERMS] or terms or [clean(text)]
    total = np.zeros(dimensions, dtype=np.float64)
    for term in terms:
        total += _signs(term, dimensions)
    if not total.any():  # an even number of terms may cancel out in very few dimensions
        total = _signs(clean(text), dimensions).astype(np.float64)
    return (total / np.linalg.norm(total)).astype(np.float32)


@lru_cache(maxsize=4096)
def _signs(term: str, dimensions: int) -> np.ndarray:
    digest = hashlib.shake_256(term.encode()).digest(-(-dimensions // 8))
    bits = np.unpackbits(np.frombuffer(digest, dtype=np.uint8))[:dimensions]
    return bits.astype(np.int8) * 2 - 1


Scripted = str | Completion | Exception | Callable[[Sequence[Mapping[str, Any]]], str | Completion]


class ScriptedModel:
    """A chat model that replies by script: a text, a ``Completion``, an error to raise, or a function of the messages.

    ``replies`` is a list that is used up one by one, or one function that answers every call. ``calls`` records the
    messages of each call and ``schemas`` its JSON schema. A call beyond the script is an ``AssertionError``.
    """

    def __init__(
        self, replies: Iterable[Scripted] | Callable[..., str | Completion] = (), *, name: str = "scripted"
    ) -> None:
        self._always = replies if callable(replies) else None
        self._replies: deque[Scripted] = deque(() if callable(replies) else replies)
        self._name = name
        self._lock = threading.Lock()
        self.calls: list[list[Mapping[str, Any]]] = []
        self.schemas: list[Mapping[str, Any] | None] = []

    @property
    def name(self) -> str:
        """The name it was given."""
        return self._name

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int | None = None,  # noqa: ARG002 - a script knows its lengths
        json_schema: Mapping[str, Any] | None = None,
    ) -> Completion:
        """Return or raise what comes next in the script."""
        with self._lock:
            self.calls.append(list(messages))
            self.schemas.append(json_schema)
            if self._always is None and not self._replies:
                raise AssertionError(f"ScriptedModel was called {len(self.calls)} times, beyond its script")
            reply: Any = self._always or self._replies.popleft()
        if isinstance(reply, Exception):
            raise reply
        if callable(reply):
            reply = reply(messages)
        return reply if isinstance(reply, Completion) else Completion(text=reply, finish_reason="stop")
