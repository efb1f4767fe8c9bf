"""Cleaning text on its way in, and folding it for comparison."""

from __future__ import annotations

import unicodedata


def clean(text: str) -> str:
    """Return ``text`` with lone surrogates replaced by U+FFFD, so that it can be encoded as UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        # A high and a low surrogate that belong together are one character; only lone ones are replaced.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def fold(text: str) -> str:
    """Return ``text`` in NFKC and case-folded: full-width, decomposed and capital forms compare equal."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", clean(text)).casefold())
