"""Short codes of unit vectors, from which cosines can be estimated without the vectors.

A vector is rotated by a fixed rotation, so that its numbers are spread like a normal distribution whatever they
were, and each number is rounded to one of 2, 4 or 8 evenly spaced levels. The levels are written as planes of bits,
the first plane being the signs, so that every inner product of codes is a weighted sum of Hamming distances.
The estimate is RaBitQ's: J. Gao and C. Long, "RaBitQ: Quantizing High-Dimensional Vectors with a Theoretical Error
Bound for Approximate Nearest Neighbor Search", SIGMOD 2024, and its extension to several bits, SIGMOD 2025.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np

from orca.stores._hamming import hamming

CODE_BITS = 1536
"""About how many bits the planes of a code take together: two planes at 1,024 and 768 dimensions, three at 512, four at
384. The narrower the vectors, the more a level has to tell: signs alone would lose a fifth of the neighbours there."""

MAX_PLANES = 4
QUERY_PLANES = 4
"""Bits of each number of a query: its rounding adds a tenth to the error of a one-bit code."""

STEPS = {1: 1.5956, 2: 0.9957, 3: 0.5860, 4: 0.3352}
NOISE = {1: 0.3634, 2: 0.1188, 3: 0.03744, 4: 0.01154}
"""Distance between levels and mean squared error of the best even rounding of a normal distribution to so many bits.
J. Max, "Quantizing for Minimum Distortion", IRE Transactions on Information Theory 6 (1960), table II."""

ROTATIONS = 2


class QueryCode(NamedTuple):
    """A query in planes of bits uint8 ``[QUERY_PLANES, plane_bytes]``, and what one step of its levels is worth."""

    planes: np.ndarray
    step: float


class Quantizer:
    """Makes codes of vectors of one width, and estimates cosines from them. Holds no data; thread-safe."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.planes = max(1, min(MAX_PLANES, round(CODE_BITS / dimensions)))
        self.plane_bytes = -(-dimensions // 64) * 8
        noise = NOISE[self.planes]
        query_noise = NOISE[QUERY_PLANES]
        self.error = float(np.sqrt((noise / (1 - noise) + query_noise / (1 - query_noise)) / dimensions))
        """Standard deviation of an estimate from the cosine."""
        digest = hashlib.shake_256(b"orca vector codes").digest(ROTATIONS * dimensions)
        self._flips = np.where(np.frombuffer(digest, dtype=np.uint8) & 1, 1.0, -1.0).astype(np.float32)

    @property
    def code_bytes(self) -> int:
        """Bytes of one code."""
        return self.planes * self.plane_bytes

    def encode(self, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return codes uint8 ``[n, code_bytes]`` and scales float32 ``[n]`` of unit vectors float32 ``[n, d]``.

        A scale turns the inner product with a code's levels into an estimated cosine.
        """
        rotated = self._rotate(vectors)
        levels, codes = self._round(rotated, self.planes)
        scales = 1.0 / np.einsum("ij,ij->i", levels, rotated)
        return codes, scales.astype(np.float32)

    def encode_query(self, query: np.ndarray) -> QueryCode:
        """Return the code of a query, a unit vector float32 ``[d]``."""
        rotated = self._rotate(query[np.newaxis])
        levels, codes = self._round(rotated, QUERY_PLANES)
        step = float(np.vdot(rotated, levels) / np.vdot(levels, levels))
        return QueryCode(codes.reshape(QUERY_PLANES, self.plane_bytes), step)

    def estimate(self, query: QueryCode, planes: np.ndarray, scales: np.ndarray) -> np.ndarray:
        """Return estimated cosines float32 ``[n]`` with codes, given as uint8 ``[planes, n, plane_bytes]``."""
        products = np.zeros(planes.shape[1], dtype=np.float32)
        weights = _weights(QUERY_PLANES)
        for weight, plane in zip(_weights(self.planes), planes, strict=True):
            # Bits beyond the dimensions are zero on both sides and differ nowhere.
            products += weight * (weights @ (self.dimensions - 2.0 * hamming(query.planes, plane)))
        result: np.ndarray = products * scales * query.step
        return result

    def _rotate(self, vectors: np.ndarray) -> np.ndarray:
        """Return vectors after signs were flipped and an orthonormal Fourier transform was taken, twice."""
        rotated = np.asarray(vectors, dtype=np.float32)
        for flips in self._flips.reshape(ROTATIONS, self.dimensions):
            rotated = _orthonormal(rotated * flips)
        return rotated

    def _round(self, rotated: np.ndarray, planes: int) -> tuple[np.ndarray, np.ndarray]:
        """Return odd levels float32 ``[n, d]``, and their planes of bits uint8 ``[n, planes * plane_bytes]``."""
        half = 2 ** (planes - 1)
        step = STEPS[planes] / np.sqrt(self.dimensions)  # the numbers of a unit vector have this deviation
        numbers = np.clip(np.floor(rotated / step), -half, half - 1).astype(np.int8)
        bits = (numbers + half).astype(np.uint8)
        codes = np.zeros((len(rotated), planes, self.plane_bytes), dtype=np.uint8)
        for place in range(planes):
            packed = np.packbits((bits >> (planes - 1 - place)) & 1, axis=1)
            codes[:, place, : packed.shape[1]] = packed
        return 2.0 * numbers.astype(np.float32) + 1.0, codes.reshape(len(rotated), planes * self.plane_bytes)


def _weights(planes: int) -> np.ndarray:
    """Return what each plane's signs are worth in a level: 4, 2 and 1 make the odd numbers from -7 to 7."""
    return np.float32(2.0) ** np.arange(planes - 1, -1, -1, dtype=np.float32)


def _orthonormal(vectors: np.ndarray) -> np.ndarray:
    """Return the real Fourier transform as real numbers that keep every length and angle."""
    width = vectors.shape[1]
    spectrum = np.fft.rfft(vectors, axis=1, norm="ortho") * np.sqrt(2.0)
    result = np.empty_like(vectors)
    middle = (width + 1) // 2
    result[:, 0] = spectrum[:, 0].real / np.sqrt(2.0)
    result[:, 1:middle] = spectrum[:, 1:middle].real
    result[:, middle : 2 * middle - 1] = spectrum[:, 1:middle].imag
    if width % 2 == 0:
        result[:, -1] = spectrum[:, -1].real / np.sqrt(2.0)
    return result
