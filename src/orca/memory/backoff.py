"""Waiting after failures: delays that grow, and the health of one provider."""

from __future__ import annotations

import logging
import math
import threading
from datetime import datetime, timedelta
from random import Random

from orca.errors import ProviderError
from orca.protocols import Clock

logger = logging.getLogger("orca")

PAUSE_BASE_SECONDS = 1.0
"""The first pause after a provider failed; each further one is twice as long."""

PAUSE_CAP_SECONDS = 600.0
"""The longest pause that is ours to choose: recovery is noticed within ten minutes."""

RETRY_AFTER_CAP_SECONDS = 3600.0
"""The longest wait taken from a provider's ``retry_after``, so that a wrong header cannot silence it for days."""


def exponential_delay(failures: int, *, base: float, cap: float, factor: float = 2.0) -> float:
    """Return ``base · factor^(failures - 1)`` seconds, at most ``cap``."""
    exponent = max(failures - 1, 0)
    if exponent * math.log(factor) > math.log(cap / base):  # also keeps a large exponent from overflowing
        return cap
    return base * factor**exponent


class ProviderHealth:
    """Whether a provider answers, and until when it is left alone.

    Delays are exponential with equal jitter (half fixed, half random), so that clients that failed together do
    not return together; see "Exponential Backoff and Jitter", AWS Architecture Blog, 2015. An outage is logged
    once when it begins and once when it ends. Thread-safe.
    """

    def __init__(self, name: str, *, clock: Clock, random: Random) -> None:
        """``name`` is what log and status call it: "embedding"."""
        self._name = name
        self._clock = clock
        self._random = random
        self._lock = threading.Lock()
        self._failures = 0
        self._until: datetime | None = None
        self._error = ""

    @property
    def is_out(self) -> bool:
        """Whether the last that was heard of the provider is an outage."""
        return self._failures > 0

    @property
    def paused_until(self) -> datetime | None:
        """Until when to leave it alone, or None."""
        until = self._until
        if until is not None and (until - self._clock.now()).total_seconds() > RETRY_AFTER_CAP_SECONDS:
            return None  # no pause is that long: the clock was set back, which must not lengthen it
        return until

    @property
    def reason(self) -> str | None:
        """What is wrong and when the next try is, in words, or None."""
        until = self._until
        if not self._failures:
            return None
        wait = 0 if until is None else math.ceil((until - self._clock.now()).total_seconds())
        return f"{self._name}: {self._error}, " + (f"retry in {wait} s" if wait > 0 else "retrying now")

    def failed(self, error: ProviderError | str) -> datetime:
        """Record an outage; return until when the provider is left alone."""
        with self._lock:
            first = self._failures == 0
            self._failures += 1
            self._error = str(error)
            delay = exponential_delay(self._failures, base=PAUSE_BASE_SECONDS, cap=PAUSE_CAP_SECONDS)
            delay *= self._random.uniform(0.5, 1.0)
            asked = error.retry_after if isinstance(error, ProviderError) else None
            if asked is not None:
                delay = max(delay, min(asked, RETRY_AFTER_CAP_SECONDS))
            self._until = self._clock.now() + timedelta(seconds=delay)
            until = self._until
        if first:
            logger.warning("%s is out: %s; work waits and is done when it is back", self._name, error)
        return until

    def succeeded(self) -> bool:
        """Record a success; return whether it ended an outage."""
        with self._lock:
            recovered = self._failures > 0
            self._failures = 0
            self._until = None
            self._error = ""
        if recovered:
            logger.info("%s works again", self._name)
        return recovered

    def resume(self) -> None:
        """Allow a try at once; the outage itself goes on until a success."""
        with self._lock:
            self._until = None
