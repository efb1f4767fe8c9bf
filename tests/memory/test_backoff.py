from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from orca.errors import ProviderError, RateLimitError
from orca.memory.backoff import RETRY_AFTER_CAP_SECONDS, ProviderHealth, exponential_delay

from .doubles import SteppedClock


@given(st.integers(-5, 10**9), st.sampled_from([2.0, 4.0]))
def test_a_delay_never_leaves_its_bounds_and_never_shrinks(failures, factor):
    delay = exponential_delay(failures, base=1, cap=600, factor=factor)
    assert 1 <= delay <= 600
    assert delay <= exponential_delay(failures + 1, base=1, cap=600, factor=factor)


def test_delays_double_from_the_base_to_the_cap():
    assert [exponential_delay(n, base=1, cap=10) for n in range(1, 7)] == [1, 2, 4, 8, 10, 10]


def test_pauses_grow_with_jitter_and_end_with_a_success():
    clock = SteppedClock()
    health = ProviderHealth("chat", clock=clock, random=Random(1))
    assert (health.is_out, health.reason, health.paused_until) == (False, None, None)
    for expected in (1, 2, 4, 8):
        pause = (health.failed(ProviderError("503")) - clock.now()).total_seconds()
        assert expected / 2 <= pause <= expected
    assert health.reason is not None
    assert health.reason.startswith("chat: 503, retry in ")
    health.resume()
    assert health.paused_until is None
    assert health.reason == "chat: 503, retrying now"
    assert health.succeeded()
    assert not health.succeeded()
    assert health.reason is None


def test_a_clock_that_is_set_back_does_not_lengthen_a_pause():
    clock = SteppedClock()
    health = ProviderHealth("chat", clock=clock, random=Random(1))
    health.failed(ProviderError("503"))
    clock.advance(-24 * 3600)
    assert health.paused_until is None


def test_a_wait_that_the_provider_asks_for_is_kept_within_reason():
    clock = SteppedClock()
    health = ProviderHealth("chat", clock=clock, random=Random(1))
    assert (health.failed(RateLimitError(retry_after=30)) - clock.now()).total_seconds() == 30
    assert (health.failed(RateLimitError(retry_after=0)) - clock.now()).total_seconds() >= 1
    silenced = health.failed(RateLimitError(retry_after=10**9)) - clock.now()
    assert silenced.total_seconds() == RETRY_AFTER_CAP_SECONDS
