"""What is reported of a ranking: recall at several depths, reciprocal rank and nDCG, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.datasets import Question

DEPTHS = (5, 10, 20)

RANKED = 50
"""Hits asked for; evidence further down has a reciprocal rank of 0."""

DRAWS = 1_000
SEED = 20260501
"""Resamples of the questions behind each interval, and where their random numbers start."""

NAMES = (
    *(f"{measure}@{depth}" for measure in ("any", "fraction", "all") for depth in DEPTHS),
    "MRR",
    "nDCG@10",
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A question and the ranks from 1 of each message of its evidence; infinity for one that was not found."""

    question: Question
    ranks: tuple[float, ...]


def measures(ranks: Sequence[float]) -> tuple[float, ...]:
    """Return the figures of one question, in the order of ``NAMES``.

    ``any`` is whether some evidence is among the first k, ``fraction`` how much of it, ``all`` whether all of it
    is. nDCG with binary relevance (Järvelin and Kekäläinen 2002).
    """
    found = [[rank <= depth for rank in ranks] for depth in DEPTHS]
    gain = sum(1 / np.log2(rank + 1) for rank in ranks if rank <= 10)
    ideal = sum(1 / np.log2(rank + 1) for rank in range(1, min(len(ranks), 10) + 1))
    return (
        *(float(any(row)) for row in found),
        *(sum(row) / len(row) for row in found),
        *(float(all(row)) for row in found),
        1 / min(ranks),
        gain / ideal,
    )


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over questions by name, and the bounds of their 95 % intervals."""

    questions: int
    means: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]

    def as_json(self) -> dict[str, object]:
        """Return the figures rounded to four places, for a results file."""
        return {
            "questions": self.questions,
            **{name: round(value, 4) for name, value in self.means.items()},
            "intervals_95": {
                name: [round(low, 4), round(high, 4)] for name, (low, high) in self.intervals.items()
            },
        }


def summarise(outcomes: Sequence[Outcome]) -> dict[str, Figures]:
    """Return figures of all questions, and of those in each group, cross-language ones together too."""
    groups: dict[str, list[tuple[float, ...]]] = {"all": []}
    for outcome in outcomes:
        row = measures(outcome.ranks)
        names = set(outcome.question.groups)
        if names & {"zh→en", "en→zh"}:
            names.add("cross-language")
        for name in ("all", *sorted(names)):
            groups.setdefault(name, []).append(row)
    return {name: _figures(np.array(rows)) for name, rows in groups.items()}


def _figures(rows: np.ndarray) -> Figures:
    draws = np.random.default_rng(SEED).integers(0, len(rows), size=(DRAWS, len(rows)))
    # How often each question is drawn, so that all means come from one product of matrices.
    counts = np.zeros((DRAWS, len(rows)))
    np.add.at(counts, (np.arange(DRAWS)[:, np.newaxis], draws), 1.0)
    low, high = np.percentile(counts @ rows / len(rows), [2.5, 97.5], axis=0)
    return Figures(
        questions=len(rows),
        means=dict(zip(NAMES, rows.mean(axis=0).tolist(), strict=True)),
        intervals={
            name: (float(below), float(above)) for name, below, above in zip(NAMES, low, high, strict=True)
        },
    )
