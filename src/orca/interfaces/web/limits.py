"""How much one client may ask for: request rate, body size and time."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

MAX_CLIENTS = 1024
"""Clients whose rate is remembered; the one seen longest ago is forgotten first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A token bucket: ``burst`` requests at once, then ``per_second``."""

    burst: float
    per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a client may do. A page makes some ten requests, and somebody who clicks fast five pages a second."""

    body_bytes: int = 1_000_000
    body_seconds: float = 30.0
    requests: Rate = Rate(burst=300, per_second=60)
    wrong_tokens: Rate = Rate(burst=10, per_second=0.1)


class RateLimiter:
    """One bucket a client, for one kind of request. To be used from one thread."""

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Return for how many seconds the client has to wait; 0 when it need not."""
        return max(0.0, (1 - self._level(client)) / self._rate.per_second)

    def take(self, client: str) -> None:
        """Count a request."""
        self._buckets[client] = (max(0.0, self._level(client) - 1), self._clock())
        self._buckets.move_to_end(client)
        if len(self._buckets) > MAX_CLIENTS:
            self._buckets.popitem(last=False)

    def _level(self, client: str) -> float:
        now = self._clock()
        level, since = self._buckets.get(client, (self._rate.burst, now))
        return min(self._rate.burst, level + (now - since) * self._rate.per_second)
