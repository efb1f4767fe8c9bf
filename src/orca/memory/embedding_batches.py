"""Getting as many texts as possible through an embedder: the right batch size, bad texts isolated by halving.

Providers refuse a batch for its size, for one of its texts, or for nothing at all, and word it in many ways. So
nothing here reads the wording: a batch that fails is divided in halves until the halves pass or single texts are
left, and the size that passed is remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from orca.errors import ProviderError, ProviderResponseError, ProviderTimeoutError, RateLimitError
from orca.protocols import Embedder
from orca.text.normalize import clean
from orca.types import Job

FAILURES_IN_A_ROW = 12
"""Failed calls without a success between them after which the provider is taken to be out. Finding one bad text
in 64 takes 7 in a row, in 512 it takes 10."""

GROW_AFTER = 50
"""Full batches that pass before a larger size is tried again: what made a batch too large may have been its texts."""

NOT_A_DIRECTION = "the vector is not finite or is zero"


@dataclass(frozen=True, slots=True)
class Item:
    """A job and the text it stands for, as the store had it when the work began."""

    job: Job
    text: str


@dataclass(slots=True)
class Outcome:
    """What became of a batch. ``failed`` items were tried alone; ``outage`` is why the rest was not tried."""

    saved: bool = False
    failed: list[tuple[Item, ProviderError]] = field(default_factory=list)
    outage: ProviderError | None = None
    untried: list[Item] = field(default_factory=list)


class _StopCalling(Exception):  # noqa: N818 - a decision, not an error
    """No further call: the provider is out."""

    def __init__(self, error: ProviderError) -> None:
        super().__init__(str(error))
        self.error = error


class BatchSize:
    """How many texts to send at once: halved on refusal, doubled again after many full batches."""

    def __init__(self, most: int) -> None:
        """``most`` is the embedder's own limit."""
        self._most = max(most, 1)
        self._full = 0
        self.value = self._most

    def passed(self, count: int) -> None:
        """Record a batch that was accepted."""
        if self.value < self._most and count >= self.value:
            self._full += 1
            if self._full >= GROW_AFTER:
                self.value = min(self.value * 2, self._most)
                self._full = 0

    def passed_only_with(self, count: int) -> None:
        """Record that a batch was refused whole while all its parts of at most ``count`` passed."""
        self.value = max(min(self.value, count), 1)
        self._full = 0


class BatchEmbedder:
    """Embeds items and hands each good part to ``save`` at once, so that later failures cost nothing done."""

    def __init__(self, embedder: Embedder, save: Callable[[Sequence[Item], np.ndarray], None]) -> None:
        """``save`` gets items and unit vectors float32 ``[n, dimensions]`` in the same order."""
        self._embedder = embedder
        self._save = save
        self._failures = 0
        self.size = BatchSize(embedder.max_batch)

    def embed(self, items: Sequence[Item]) -> Outcome:
        """Embed and save what can be; never raises ``ProviderError``. What ``save`` raises passes through."""
        outcome = Outcome()
        pending = {id(item): item for item in items}
        try:
            self._embed(items, outcome, pending)
            self._try_again(outcome, pending)
        except _StopCalling as stop:
            outcome.outage = stop.error
        outcome.untried = list(pending.values())
        return outcome

    def _embed(self, items: Sequence[Item], outcome: Outcome, pending: dict[int, Item]) -> bool:
        """Return whether every item passed without a failed call."""
        size = self.size.value
        if len(items) > size:
            parts = [items[start : start + size] for start in range(0, len(items), size)]
            passed = [self._embed(part, outcome, pending) for part in parts]
            return all(passed)
        try:
            vectors, faults = self._call([clean(item.text) for item in items])
        except (RateLimitError, ProviderTimeoutError) as error:
            if len(items) == 1 and isinstance(error, ProviderTimeoutError):
                self._fail(items[0], error, outcome, pending)  # it may be this text that hangs the provider
            raise _StopCalling(error) from error
        except ProviderError as error:
            return self._divide(items, error, outcome, pending)
        good = [number for number in range(len(items)) if number not in faults]
        self._keep([items[number] for number in good], vectors[good], outcome, pending)
        for number, fault in faults.items():
            self._fail(items[number], ProviderResponseError(fault), outcome, pending)
        if faults:
            return False
        self.size.passed(len(items))
        return True

    def _try_again(self, outcome: Outcome, pending: dict[int, Item]) -> None:
        """Give texts that failed alone one more call when others passed: the provider may have stumbled briefly."""
        if not outcome.saved:
            return
        failed, outcome.failed = outcome.failed, []
        again = []
        for item, error in failed:
            if error.refused:
                outcome.failed.append((item, error))
            else:
                pending[id(item)] = item
                again.append(item)
        for item in again:
            self._embed([item], outcome, pending)

    def _divide(
        self, items: Sequence[Item], error: ProviderError, outcome: Outcome, pending: dict[int, Item]
    ) -> bool:
        if len(items) == 1:
            if not (error.refused and self._embed_shortened(items[0], outcome, pending)):
                self._fail(items[0], error, outcome, pending)
                self._count_failure(error)
            return False
        self._count_failure(error)
        half = (len(items) + 1) // 2
        first = self._embed(items[:half], outcome, pending)
        second = self._embed(items[half:], outcome, pending)
        if first and second:
            self.size.passed_only_with(half)
        return first and second

    def _count_failure(self, error: ProviderError) -> None:
        self._failures += 1
        if self._failures >= FAILURES_IN_A_ROW:
            raise _StopCalling(error)

    def _embed_shortened(self, item: Item, outcome: Outcome, pending: dict[int, Item]) -> bool:
        """Try the first half of a refused text once; an eighth, a sixteenth … when it was refused before."""
        length = len(item.text) >> (item.job.attempts + 1)
        if length == 0:
            return False
        try:
            vectors, faults = self._call([clean(item.text[:length])])
        except (RateLimitError, ProviderTimeoutError) as error:
            raise _StopCalling(error) from error
        except ProviderError:
            return False  # the caller reports the refusal of the whole text, which says more
        if faults:
            return False
        self._keep([item], vectors, outcome, pending)
        return True

    def _call(self, texts: list[str]) -> tuple[np.ndarray, Mapping[int, str]]:
        """Return unit vectors float32 ``[n, dimensions]``, and position → fault of those that are no vectors.

        Raises ``ProviderError`` when there is none that can be used.
        """
        width = self._embedder.space.dimensions
        try:
            vectors = np.asarray(self._embedder.embed(texts, kind="document"), dtype=np.float32)
        except ProviderResponseError as error:
            if not error.usable:
                raise
            vectors = np.zeros((len(texts), width), dtype=np.float32)
            for number, vector in error.usable.items():
                vectors[number] = vector
            return vectors, {
                number: error.faults.get(number, str(error))
                for number in range(len(texts))
                if number not in error.usable
            }
        if vectors.shape != (len(texts), width):
            raise ProviderResponseError(
                f"vectors of shape {vectors.shape} came where {(len(texts), width)} was expected"
            )
        norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
        good = np.isfinite(norms) & (norms > 0)
        if not good.any():
            raise ProviderResponseError(NOT_A_DIRECTION)
        scale = np.where(good, norms, 1.0)[:, np.newaxis]
        faults = {int(number): NOT_A_DIRECTION for number in np.flatnonzero(~good)}
        return (vectors / scale).astype(np.float32), faults

    def _keep(
        self, items: Sequence[Item], vectors: np.ndarray, outcome: Outcome, pending: dict[int, Item]
    ) -> None:
        if not items:
            return
        self._failures = 0
        self._save(items, vectors)
        outcome.saved = True
        for item in items:
            del pending[id(item)]

    @staticmethod
    def _fail(item: Item, error: ProviderError, outcome: Outcome, pending: dict[int, Item]) -> None:
        outcome.failed.append((item, error))
        del pending[id(item)]
