"""In how many bits codes differ: by simsimd's vector instructions, or by numpy where that package is missing."""

from __future__ import annotations

from types import ModuleType

import numpy as np

_simsimd: ModuleType | None
try:
    import simsimd as _simsimd
except ImportError:  # a platform without a wheel: numpy gives the same numbers, at half the speed or less
    _simsimd = None

NUMPY_ROWS = 4096
"""Rows that numpy takes at a time, so that what it writes in between stays in the processor's cache."""

_EVEN_BYTES = np.uint64(0x00FF00FF00FF00FF)
_ONES = np.uint64(0x0001000100010001)


def hamming(queries: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return float32 ``[m, n]``: bits in which each of ``queries`` ``[m, w]`` differs from each of ``codes`` ``[n, w]``.

    Both are uint8, and ``w`` is a multiple of 8.
    """
    if _simsimd is None or not len(codes):
        return numpy_hamming(queries, codes)
    # Not into an array of ours: given one, simsimd 6.5 gives back a reference to None that it does not own, and
    # the interpreter ends with a fatal error once they are used up.
    return np.asarray(_simsimd.cdist(queries, codes, metric="hamming", dtype="bin8", out_dtype="f32"))


def numpy_hamming(queries: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return what ``hamming`` returns, with numpy alone."""
    result = np.empty((len(queries), len(codes)), dtype=np.float32)
    words = np.ascontiguousarray(codes).view(np.uint64)
    for row, query in enumerate(np.ascontiguousarray(queries).view(np.uint64)):
        for start in range(0, len(codes), NUMPY_ROWS):
            end = start + NUMPY_ROWS
            counts = np.bitwise_count(words[start:end] ^ query)
            result[row, start:end] = _sum_rows(counts)
    return result


def _sum_rows(counts: np.ndarray) -> np.ndarray:
    """Return the sums of rows of bytes of at most 64 each: eight bytes are added at a time, as one number."""
    width = counts.shape[1]
    padded = np.zeros((len(counts), -width % 8 + width), dtype=np.uint8)
    padded[:, :width] = counts
    packed = padded.view(np.uint64)
    lanes = (packed & _EVEN_BYTES) + ((packed >> np.uint64(8)) & _EVEN_BYTES)
    total: np.ndarray = ((lanes * _ONES) >> np.uint64(48)).sum(axis=1)
    return total
