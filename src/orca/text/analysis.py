"""Index terms: what keyword search compares. One function serves rows and queries, on every backend.

Runs of scripts that are written without spaces between words (Chinese, Japanese, Korean, Thai and their like)
become single characters and overlapping pairs; every other run of letters, digits and marks becomes one word,
without accents and stemmed. The result is a list of plain terms that an index only has to split at spaces.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from threading import Lock

import Stemmer

from orca.text.irregular import BASE_FORMS
from orca.text.normalize import clean
from orca.text.stopwords import CHINESE, ENGLISH

MAX_QUERY_TERMS = 48
"""A query keeps at most this many distinct terms, the first ones, which bounds the work of any search."""

MAX_WORD_CHARACTERS = 64
"""Longer words are cut here: hashes and base64 would fill the index, and no backend takes a term of any length."""

CJK = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3040-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\u1100-\u11ff\u3131-\u318e\ua960-\ua97c"
    "\uac00-\ud7a3\ud7b0-\ud7fb\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""The inside of a regular-expression class: Han, kana, bopomofo and hangul."""

_UNSPACED = CJK + "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u103f\u1780-\u17d3"
"""The same with Thai, Lao, Burmese and Khmer, which are written without spaces too."""

_ASCII_WORD = re.compile("[a-z0-9]+")
_RUN = re.compile(f"([{_UNSPACED}]+)|([^ _{_UNSPACED}]+)")
_PAIR = re.compile(f"[{_UNSPACED}]{{2}}")
_ACCENT = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u064b-\u065f\u0670]+")
"""Combining accents, and the optional vowel points of Hebrew and Arabic."""
_MAYBE_ACCENTED = re.compile("[\u00c0-\u036f\u0370-\u052f\u0591-\u06d3\u1e00-\u1fff]")
_INVISIBLE = re.compile(
    "[\u00ad\u180b-\u180f\u200b-\u200f\u20d0-\u20ff\u2060-\u2064\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]+"
)
"""Soft hyphens, joiners, direction marks and variation selectors: no part of a word, and no end of one."""
_stemmer = Stemmer.Stemmer("english", 0)
_stemmer_lock = Lock()


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    with _stemmer_lock:  # a stemmer holds state while it works on a word
        return str(_stemmer.stemWord(BASE_FORMS.get(word, word)))[:MAX_WORD_CHARACTERS]


@lru_cache(maxsize=1)
def _separators() -> re.Pattern[str]:
    # ``\w`` lacks marks, without which words of Hindi, Tamil or vocalised Arabic fall apart, and ``re`` has no
    # class for them. They are looked up once, when the first text that is not ASCII comes by (about 20 ms).
    # Beyond the basic plane there are marks of historic scripts only, and a long class of those is slow.
    marks = "".join(char for char in map(chr, range(0x300, 0x10000)) if unicodedata.category(char)[0] == "M")
    return re.compile(rf"[^\w{marks}]+")


def _folded(text: str) -> str:
    """Return ``text`` in NFKC, case-folded and without accents, so that forms of one word compare equal."""
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", clean(text))).casefold()
    if _MAYBE_ACCENTED.search(text):
        text = _ACCENT.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFKC", text)


def index_terms(text: str) -> list[str]:
    """Return the index terms of a stored text, in order, repeats included.

    Never raises, whatever the string; terms hold letters, digits and marks only.
    """
    if text.isascii():
        return [_stem(word) for word in _ASCII_WORD.findall(text.lower())]
    terms: list[str] = []
    for run, word in _RUN.findall(_separators().sub(" ", _folded(text))):
        if run:
            terms.extend(run)
            terms.extend(map("".join, pairwise(run)))
        else:
            terms.append(_stem(word))
    return terms


def unspaced_runs(text: str) -> list[str]:
    """Return the runs of scripts without spaces in ``text``, folded as index terms are."""
    if text.isascii():
        return []
    return [run for run, _ in _RUN.findall(_separators().sub(" ", _folded(text))) if run]


STOP_TERMS = frozenset(CHINESE) | frozenset(map(_stem, ENGLISH))
"""Index terms that a query drops, unless nothing else would be left of it."""


def query_terms(text: str) -> list[str]:
    """Return the distinct content terms of a query: index terms without stop words.

    A query that holds nothing but stop words keeps them, so that it still finds something.
    """
    terms = list(dict.fromkeys(index_terms(text)))
    content = [term for term in terms if term not in STOP_TERMS]
    return (content or terms)[:MAX_QUERY_TERMS]


def is_pair(term: str) -> bool:
    """Whether an index term is an overlapping pair of a script without spaces, and not a word."""
    return len(term) == 2 and _PAIR.fullmatch(term) is not None


def count_words(terms: Sequence[str]) -> int:
    """Return about how many words the terms of a query stand for: two characters of an unspaced script are one."""
    pairs = sum(map(is_pair, terms))
    characters = sum(_PAIR.fullmatch(term * 2) is not None for term in terms)
    return len(terms) - pairs - characters + -(-characters // 2)
