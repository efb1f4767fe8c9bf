"""Vectors as points on a plane, so that what lies near each other in meaning lies near each other on a map."""

from __future__ import annotations

import numpy as np


def project(vectors: np.ndarray) -> np.ndarray:
    """Return float64 ``[n, 2]`` in [-1, 1] for vectors ``[n, dimensions]``: their two main directions.

    Principal component analysis (Pearson 1901). The same vectors always give the same points: the sign of a
    direction, which is free, is chosen so that its largest weight is positive.
    """
    if len(vectors) < 2:
        return np.zeros((len(vectors), 2))
    centred = np.asarray(vectors, dtype=np.float64) - np.mean(vectors, axis=0, dtype=np.float64)
    _, directions = np.linalg.eigh(centred.T @ centred)
    main = directions[:, :-3:-1]
    strongest = np.take_along_axis(main, np.abs(main).argmax(axis=0)[None, :], axis=0)
    points: np.ndarray = centred @ (main * np.where(strongest < 0, -1.0, 1.0))
    if points.shape[1] < 2:  # vectors of one dimension lie on a line
        points = np.pad(points, ((0, 0), (0, 2 - points.shape[1])))
    largest = float(np.abs(points).max())
    return points / largest if largest else points
