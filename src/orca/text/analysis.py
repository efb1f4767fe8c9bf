"""Index terms: what keyword search compares. One function serves rows and queries, on every backend.

Runs of Chinese, Japanese and Korean characters become single characters and overlapping pairs; every other
run of letters and digits becomes one stemmed word. The result is a list of plain terms that an index only has
to split at spaces.
"""

from __future__ import annotations

import re
from functools import lru_cache

import Stemmer

from orca.text.normalize import fold
from orca.text.stopwords import STOP_TERMS

MAX_QUERY_TERMS = 48
"""A query keeps at most this many distinct terms, the first ones."""

CJK = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3040-\u30ff\u31c0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""The inside of a regular-expression class: Han, kana and hangul, which are written without word spaces."""

_RUN = re.compile(rf"([{CJK}]+)|([^\W_{CJK}]+)")
_STEMMER = Stemmer.Stemmer("english", 0)


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    return str(_STEMMER.stemWord(word))


def index_terms(text: str) -> list[str]:
    """Return the index terms of a stored text, in order, repeats included."""
    terms: list[str] = []
    for match in _RUN.finditer(fold(text)):
        run, word = match.groups()
        if run:
            terms.extend(run)
            terms.extend(run[i : i + 2] for i in range(len(run) - 1))
        else:
            terms.append(_stem(word))
    return terms


def query_terms(text: str) -> list[str]:
    """Return the distinct content terms of a query: index terms without stop words.

    A query that holds nothing but stop words keeps them, so that it still finds something.
    """
    terms = list(dict.fromkeys(index_terms(text)))
    content = [term for term in terms if term not in STOP_TERMS]
    return (content or terms)[:MAX_QUERY_TERMS]
