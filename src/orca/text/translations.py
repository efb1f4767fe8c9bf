"""What a query asks for, word by word: each word with its translations, so that either language finds the other.

Source of the method: Pirkola (1998), "The Effects of Query Structure and Dictionary Setups in Dictionary-Based
Cross-Language Information Retrieval": all translations of a word count as occurrences of that one word. The words
stand in ``translations.txt``, a general list of everyday words; whatever it lacks is left to the embedded model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from itertools import pairwise

from orca.text.analysis import CJK, STOP_TERMS, index_terms, query_terms, unspaced_runs

MAX_SEARCHED_TERMS = 128
"""Terms that a query is searched for, translations included: a longer query has its first words translated."""

_UNSPACED_WORD = re.compile(f"[{CJK}]+")

Variant = tuple[str, ...]
"""Index terms that a row must all hold to name a thing in one of its words."""


@dataclass(frozen=True, slots=True)
class QueryWords:
    """A query as it is searched for by its words.

    ``terms`` are the distinct index terms to look up; ``concepts`` say what they stand for. A concept is a thing that
    the query names; it is a tuple of variants, and a variant a tuple of places in ``terms`` that a row must all hold.
    """

    terms: tuple[str, ...] = ()
    concepts: tuple[tuple[tuple[int, ...], ...], ...] = ()

    @classmethod
    def plain(cls, terms: Sequence[str]) -> QueryWords:
        """Return each term as a concept of its own, without translations."""
        return cls(tuple(terms), tuple(((place,),) for place in range(len(terms))))

    @classmethod
    def of(cls, query: str) -> QueryWords:
        """Read a query of any text; the query's own terms come first."""
        own = query_terms(query)
        groups = [[variant] for variant in _own_words(query, own)]
        places = {term: place for place, term in enumerate(own)}
        for group in groups:
            for variant in _translations(group[0]):
                # Distinct and not yet known: these are what another statement to the index is spent on.
                new = [term for term in dict.fromkeys(variant) if term not in places]
                if len(places) + len(new) <= MAX_SEARCHED_TERMS:
                    places |= {term: number for number, term in enumerate(new, len(places))}
                    group.append(variant)
        # The pairs of a word of the query may have been dropped as too many, or as stop words.
        known = [
            [[places[term] for term in variant if term in places] for variant in group] for group in groups
        ]
        return cls(
            tuple(places),
            tuple(tuple(tuple(variant) for variant in group if variant) for group in known if any(group)),
        )


def _own_words(query: str, terms: Sequence[str]) -> list[Variant]:
    """Return the words of a query as variants: what dictionary words do not cover stays as single terms."""
    kept = set(terms)
    words, inside, apart = _unspaced_words(query)
    found: list[Variant] = [
        variant for variant in dict.fromkeys(map(word_terms, words)) if kept.intersection(variant)
    ]
    covered = set().union(*found) | inside
    return found + [(term,) for term in terms if term not in covered or term in apart]


def _unspaced_words(query: str) -> tuple[list[str], set[str], set[str]]:
    """Return the dictionary's words in the runs of a query, and which terms they cover and do not cover.

    The longest word wins. A pair that straddles two words of several characters means nothing and is covered;
    a pair with a character that is no such word's may be part of a name and is not.
    """
    dictionary = _dictionary()
    words: list[str] = []
    inside: set[str] = set()
    apart: set[str] = set()
    for run in unspaced_runs(query):
        long = [False] * len(run)
        start = 0
        while start < len(run):
            lengths = range(min(dictionary.longest, len(run) - start), 0, -1)
            length = next((n for n in lengths if run[start : start + n] in dictionary.chinese), 0)
            if length:
                words.append(run[start : start + length])
                long[start : start + length] = [length > 1] * length
            start += length or 1
        for place, character in enumerate(run):
            (inside if long[place] else apart).add(character)
        for place, pair in enumerate(pairwise(run)):
            (inside if long[place] and long[place + 1] else apart).add("".join(pair))
    # A single character that is a word by itself is one concept with its translations.
    return words, inside, apart - {word for word in words if len(word) == 1}


def word_terms(word: str) -> Variant:
    """Return the index terms that a row must all hold to hold a word: the pairs of one without spaces."""
    if _UNSPACED_WORD.fullmatch(word):
        return tuple(map("".join, pairwise(word))) or (word,)
    return tuple(index_terms(word))


@dataclass(frozen=True, slots=True)
class _Dictionary:
    """Translations as variants, by English index term and by Chinese word."""

    english: Mapping[str, tuple[Variant, ...]]
    chinese: Mapping[str, tuple[Variant, ...]]
    by_terms: Mapping[Variant, tuple[Variant, ...]]
    longest: int


@lru_cache(maxsize=1)
def _dictionary() -> _Dictionary:
    text = resources.files("orca.text").joinpath("translations.txt").read_text(encoding="utf-8")
    english: dict[str, dict[Variant, None]] = {}
    chinese: dict[str, dict[Variant, None]] = {}
    by_terms: dict[Variant, dict[Variant, None]] = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        left, _, right = line.partition(":")
        stems = [stem for stem in index_terms(left) if stem not in STOP_TERMS]
        for word in right.split() if stems else ():
            variant = word_terms(word)
            for stem in stems:
                english.setdefault(stem, {})[variant] = None
            by_terms[variant] = chinese.setdefault(word, {})
            chinese[word].update(dict.fromkeys((stem,) for stem in stems))
    return _Dictionary(
        english={stem: tuple(variants) for stem, variants in english.items()},
        chinese={word: tuple(variants) for word, variants in chinese.items()},
        by_terms={terms: tuple(variants) for terms, variants in by_terms.items()},
        longest=max(map(len, chinese)),
    )


def _translations(word: Variant) -> tuple[Variant, ...]:
    dictionary = _dictionary()
    if word in dictionary.by_terms:
        return dictionary.by_terms[word]
    return dictionary.english.get(word[0], ()) if len(word) == 1 else ()
