"""The map: main directions, within bounds, the same every time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from orca.memory.projection import project


def test_what_lies_together_stays_together() -> None:
    rng = np.random.default_rng(1)
    centres = np.eye(16)[:2] * 5
    points = project(np.concatenate([centre + rng.normal(0, 0.1, (20, 16)) for centre in centres]))
    assert np.abs(points[:20].mean(axis=0) - points[20:].mean(axis=0)).max() > 1
    assert points[:20].std(axis=0).max() < 0.1


@pytest.mark.parametrize("shape", [(0, 8), (1, 8), (2, 1), (3, 2)])
def test_few_vectors(shape: tuple[int, int]) -> None:
    assert project(np.ones(shape)).shape == (shape[0], 2)


def test_the_directions_are_those_of_a_whole_decomposition() -> None:
    rng = np.random.default_rng(2)
    spread = np.geomspace(3, 0.1, 96)
    vectors = rng.normal(0, 1, (200, 96)) * spread
    centred = vectors - vectors.mean(axis=0)
    whole = np.linalg.svd(centred, full_matrices=False)[2][:2]
    points = project(vectors)
    exact = centred @ whole.T
    for axis in range(2):
        assert abs(np.corrcoef(points[:, axis], exact[:, axis])[0, 1]) > 0.999


@given(arrays(np.float32, (6, 4), elements=st.floats(-1, 1, width=32)))
def test_bounds_and_repeats(vectors: np.ndarray) -> None:
    points = project(vectors)
    assert np.isfinite(points).all()
    assert np.abs(points).max() <= 1
    assert np.array_equal(points, project(vectors))
