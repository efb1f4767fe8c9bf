"""Messages, queries and vectors of any number, made from a seed: what the speed benchmark stores and asks for.

Words follow Zipf's law, as they do in real conversations: at the top the stop words of English and Chinese, below
them made-up words of each language, so that a store of a million messages has common words that stand in every
tenth row and rare ones that stand in one. Vectors come in clusters, as those of a model do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

import numpy as np

from orca.text.stopwords import CHINESE, ENGLISH
from orca.types import EmbeddingSpace, Message, Scope

SESSION_MESSAGES = 200
USERS_OF_TEN = 0.9
"""Share of the messages that are one user's, whose memory is searched; the rest belong to nine others."""

ZIPF_EXPONENT = 1.07
"""Exponent of word frequencies; about 1 in natural languages (Zipf 1949; Piantadosi 2014)."""

ENGLISH_WORDS, CHINESE_WORDS = 40_000, 20_000
MEDIAN_WORDS, SPREAD = 14, 0.7
"""Words of a message: log-normal. LoCoMo's turns have a median of 20, the bilingual set's of 11."""

LANGUAGES: tuple[tuple[str, float], ...] = (("en", 0.55), ("zh", 0.3), ("mixed", 0.15))
START = datetime(2024, 1, 1, tzinfo=UTC)
OWNER = "owner"
_SYLLABLES = [a + b for a in "bcdfghjklmnprstvwz" for b in ("a", "e", "i", "o", "u", "an", "er", "il", "on")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The messages of one session."""

    scope: Scope
    messages: list[Message]


class Workload:
    """Makes conversations. The same seed gives the same ones, whatever is asked for in between."""

    def __init__(self, seed: int = 11) -> None:
        self._seed = seed
        dice = np.random.default_rng(seed)
        english = dict.fromkeys(ENGLISH)
        while len(english) < ENGLISH_WORDS:
            english["".join(dice.choice(_SYLLABLES, size=int(dice.integers(2, 5))))] = None
        chinese = dict.fromkeys(CHINESE)
        characters = [chr(0x4E00 + int(number)) for number in dice.permutation(3_000)]
        weights = _zipf(len(characters))
        while len(chinese) < CHINESE_WORDS:
            size = int(dice.choice([1, 2, 2, 2, 3]))
            chinese["".join(characters[int(place)] for place in _drawn(dice, weights, size))] = None
        self._words = {"en": np.array(list(english)), "zh": np.array(list(chinese))}
        self._weights = {name: _zipf(len(words)) for name, words in self._words.items()}
        self._content = {"en": len(ENGLISH), "zh": len(CHINESE)}

    def sessions(self, messages: int) -> Iterator[Batch]:
        """Yield sessions until there are so many messages; nine in ten of them are ``OWNER``'s."""
        for number in range(-(-messages // SESSION_MESSAGES)):
            dice = np.random.default_rng((self._seed, number))
            owned = number % 10 < 10 * USERS_OF_TEN
            scope = Scope(user=OWNER if owned else f"other{number // 10 % 9}", session=f"session-{number}")
            size = min(SESSION_MESSAGES, messages - number * SESSION_MESSAGES)
            began = START + timedelta(minutes=30 * number)
            yield Batch(
                scope=scope,
                messages=[
                    Message(
                        role="user" if place % 2 == 0 else "assistant",
                        content=text,
                        timestamp=began + timedelta(seconds=7 * place),
                    )
                    for place, text in enumerate(self._texts(dice, size))
                ],
            )

    def queries(self, number: int, *, messages: int) -> list[str]:
        """Return questions for things that were said: some words of a message of ``OWNER``, and common ones."""
        dice = np.random.default_rng((self._seed, 1 << 40))
        total = -(-messages // SESSION_MESSAGES)
        asked = []
        while len(asked) < number:
            chosen = int(dice.integers(total))
            if chosen % 10 >= 10 * USERS_OF_TEN:
                continue
            texts = list(self._texts(np.random.default_rng((self._seed, chosen)), SESSION_MESSAGES))
            asked.append(self._question(dice, texts[int(dice.integers(len(texts)))]))
        return asked

    def _question(self, dice: np.random.Generator, text: str) -> str:
        if " " not in text:  # Chinese: a stretch of it and one common word more
            start = int(dice.integers(max(1, len(text) - 10)))
            return f"{text[start : start + 10]}，{self._some(dice, 'zh', 1)}是什么？"
        words = text.split()
        kept = [words[int(place)] for place in sorted(dice.permutation(len(words))[:4])]
        return f"what did I say about {' '.join(kept)} and {self._some(dice, 'en', 1)}?"

    def _some(self, dice: np.random.Generator, language: Literal["en", "zh"], number: int) -> str:
        common = self._content[language] + _drawn(dice, _zipf(300), number)
        return " ".join(self._words[language][common])

    def _texts(self, dice: np.random.Generator, number: int) -> Iterator[str]:
        names, shares = zip(*LANGUAGES, strict=True)
        languages = dice.choice(names, size=number, p=shares)
        lengths = np.clip(np.exp(dice.normal(np.log(MEDIAN_WORDS), SPREAD, number)), 2, 400).astype(int)
        for language, length in zip(languages, lengths, strict=True):
            if language == "zh":
                yield "".join(self._drawn_words(dice, "zh", length)) + "。"
            elif language == "en":
                yield " ".join(self._drawn_words(dice, "en", length)) + "."
            else:
                half = max(1, length // 2)
                zh, en = self._drawn_words(dice, "zh", half), self._drawn_words(dice, "en", half)
                yield " ".join(en) + " " + "".join(zh)

    def _drawn_words(self, dice: np.random.Generator, language: str, number: int) -> Sequence[str]:
        return list(self._words[language][_drawn(dice, self._weights[language], number)])


class GivenVectors:
    """An embedder whose vectors are made and not computed: as if the caller had them at hand."""

    max_batch = 1_024

    def __init__(self, dimensions: int, *, clusters: int = 200, seed: int = 5) -> None:
        self._dice = np.random.default_rng(seed)
        self.space = EmbeddingSpace(provider="benchmark", model="given", dimensions=dimensions)
        self._centres = self._dice.normal(size=(clusters, dimensions)).astype(np.float32)

    def embed(self, texts: Sequence[str], *, kind: Literal["query", "document"]) -> np.ndarray:  # noqa: ARG002 - both kinds are made alike
        """Return unit vectors, each near the centre of a cluster, float32 ``[n, dimensions]``."""
        return self.made(len(texts))

    def made(self, number: int) -> np.ndarray:
        """Return so many unit vectors, float32 ``[n, dimensions]``."""
        chosen = self._dice.integers(len(self._centres), size=number)
        noise = self._dice.standard_normal((number, self.space.dimensions), dtype=np.float32)
        vectors: np.ndarray = self._centres[chosen] + 0.8 * noise
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _zipf(number: int) -> np.ndarray:
    """Return the cumulative shares of words by rank, ``float64 [n]``."""
    shares = np.arange(1, number + 1) ** -ZIPF_EXPONENT
    return np.cumsum(shares / shares.sum())


def _drawn(dice: np.random.Generator, cumulative: np.ndarray, number: int) -> np.ndarray:
    return np.minimum(np.searchsorted(cumulative, dice.random(number)), len(cumulative) - 1)
