"""Rows of the lexical lane, made from a few numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from orca.memory.lexical import Rows, place_rows
from orca.types import Placements


def placed(
    places: Iterable[tuple[int, int, int]], frequencies: Mapping[int, tuple[int, ...]] | None = None
) -> Rows:
    """Return ``(id, session, position)`` as rows of ten terms, with the frequencies given by id."""
    given = list(places)
    found = frequencies or {}
    nothing = (0,) * max(map(len, found.values()), default=0)
    table = np.array(given, dtype=np.int64).reshape(-1, 3)
    return place_rows(
        Placements(
            ids=table[:, 0],
            sessions=table[:, 1],
            positions=table[:, 2],
            lengths=np.full(len(given), 10),
            characters=np.full(len(given), 50),
            frequencies=np.array([found.get(row[0], nothing) for row in given], dtype=np.int64).reshape(
                len(given), len(nothing)
            ),
        )
    )
