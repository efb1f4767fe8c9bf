"""The terms of a row as a few bytes, and the frequencies of a query's terms in many rows at once.

A row's distinct terms are stored as 32-bit hashes with a count each. So the frequencies of any row, whether a
search proposed it or it stands beside one that was, come with the row itself and are counted by numpy. Two terms
share a hash once in four thousand million: a row of a hundred terms has a wrong count for one query term in forty
million.
"""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

import numpy as np

MAX_COUNT = 255
"""Counts are bytes; what occurs more often has long reached the limit of BM25's saturation."""


@dataclass(frozen=True, slots=True)
class PackedTerms:
    """Distinct terms as little-endian 32-bit ``hashes``, and how often each occurs, a byte for each."""

    hashes: bytes
    counts: bytes


@lru_cache(maxsize=65_536)
def term_hash(term: str) -> int:
    """Return the 32 bits that stand for a term, the same in every process."""
    return crc32(term.encode("utf-8", "surrogatepass"))


def pack(terms: Sequence[str]) -> PackedTerms:
    """Return the terms of a row as they are stored."""
    counted = Counter(terms)
    hashes = array("I", map(term_hash, counted))
    if sys.byteorder == "big":
        hashes.byteswap()
    try:
        counts = bytes(counted.values())
    except ValueError:
        counts = bytes(min(count, MAX_COUNT) for count in counted.values())
    return PackedTerms(hashes.tobytes(), counts)


def unpack(hashes: Sequence[bytes], counts: Sequence[bytes], terms: Sequence[str]) -> np.ndarray:
    """Return how often each of ``terms`` occurs in each row, ``int64 [rows, terms]``."""
    result = np.zeros((len(hashes), len(terms)), dtype=np.int64)
    everything = np.frombuffer(b"".join(hashes), dtype="<u4")
    if not len(everything):
        return result
    numbers = np.frombuffer(b"".join(counts), dtype=np.uint8)
    ends = np.cumsum(np.fromiter(map(len, counts), dtype=np.int64, count=len(counts)))
    for index, term in enumerate(terms):
        found = np.flatnonzero(everything == term_hash(term))
        result[np.searchsorted(ends, found, side="right"), index] += numbers[found]
    return result
