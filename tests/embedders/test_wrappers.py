import numpy as np
import pytest

from orca.embedders.caching import CachingEmbedder
from orca.embedders.guarding import FAILURES, FIRST_PAUSE, MAX_PAUSE, GuardedEmbedder
from orca.errors import ProviderError, ProviderTimeoutError, RateLimitError
from orca.testing import FakeEmbedder, FixedClock


class TestCaching:
    def test_a_query_is_embedded_once(self):
        inner = FakeEmbedder(64)
        cached = CachingEmbedder(inner)
        first = cached.embed(["a"], kind="query")
        second = cached.embed(["a", "b", "a"], kind="query")
        assert [texts for texts, _ in inner.calls] == [("a",), ("b",)]
        assert np.array_equal(second[0], first[0])
        assert np.array_equal(second[0], second[2])

    def test_a_caller_cannot_change_what_is_kept(self):
        cached = CachingEmbedder(FakeEmbedder(64))
        cached.embed(["a"], kind="query")[:] = 0
        assert cached.embed(["a"], kind="query").any()

    def test_documents_pass_through(self):
        inner = FakeEmbedder(64)
        cached = CachingEmbedder(inner)
        for _ in range(2):
            cached.embed(["a"], kind="document")
        cached.embed(["a"], kind="query")
        assert len(inner.calls) == 3

    def test_the_least_recently_used_goes_first(self):
        inner = FakeEmbedder(64)
        cached = CachingEmbedder(inner, max_bytes=2 * (64 * 4 + 60))
        for text in ("a", "b", "a", "c", "a", "b"):
            cached.embed([text], kind="query")
        assert [texts[0] for texts, _ in inner.calls] == ["a", "b", "c", "b"]

    @pytest.mark.case(12)
    def test_a_failure_is_not_kept(self):
        inner = FakeEmbedder(64, fails=lambda _: ProviderError("down"))
        cached = CachingEmbedder(inner)
        with pytest.raises(ProviderError):
            cached.embed(["a"], kind="query")
        inner.fails = None
        cached.embed(["a"], kind="query")

    @pytest.mark.case(12)
    def test_another_space_is_another_vector(self):
        inner = FakeEmbedder(64)
        cached = CachingEmbedder(inner)
        cached.embed(["a"], kind="query")
        cached._embedder = FakeEmbedder(32, model="other")
        assert cached.embed(["a"], kind="query").shape == (1, 32)


class TestGuarding:
    @pytest.fixture
    def clock(self):
        return FixedClock()

    @pytest.fixture
    def inner(self):
        return FakeEmbedder(16, fails=lambda _: ProviderTimeoutError("too slow"))

    @pytest.fixture
    def guarded(self, inner, clock):
        return GuardedEmbedder(inner, clock=clock)

    @staticmethod
    def fail(guarded, times=1, kind="query"):
        for _ in range(times):
            with pytest.raises(ProviderError) as caught:
                guarded.embed(["a"], kind=kind)
        return caught.value

    @pytest.mark.case(12)
    def test_one_failure_does_not_latch(self, guarded, inner):
        self.fail(guarded)
        inner.fails = None
        guarded.embed(["a"], kind="query")
        assert guarded.reason is None

    def test_after_three_failures_the_provider_is_left_alone_for_a_while(self, guarded, inner, clock):
        self.fail(guarded, FAILURES)
        refusal = self.fail(guarded)
        assert len(inner.calls) == FAILURES
        assert "too slow" in str(refusal)
        assert refusal.retry_after == FIRST_PAUSE
        clock.advance(FIRST_PAUSE)
        inner.fails = None
        guarded.embed(["a"], kind="query")
        guarded.embed(["a"], kind="query")
        assert guarded.reason is None

    def test_failed_trials_lengthen_the_pause_up_to_a_minute(self, guarded, clock):
        self.fail(guarded, FAILURES)
        pauses = []
        for _ in range(8):
            pauses.append(self.fail(guarded).retry_after)
            clock.advance(pauses[-1])
            self.fail(guarded)
        assert pauses == [2, 4, 8, 16, 32, 60, 60, 60]

    def test_only_one_trial_at_a_time(self, guarded, inner, clock):
        self.fail(guarded, FAILURES)
        clock.advance(FIRST_PAUSE)
        seen = []

        def second_query(_):
            seen.append(self.fail(guarded))
            return ProviderError("still down")

        inner.fails = second_query
        self.fail(guarded)
        assert len(seen) == 1
        assert len(inner.calls) == FAILURES + 1

    @pytest.mark.case(2)
    @pytest.mark.parametrize(("asked", "pause"), [(30, 30), (1, FIRST_PAUSE), (3600, MAX_PAUSE)])
    def test_what_the_provider_asked_for_is_honoured_within_bounds(self, guarded, inner, asked, pause):
        inner.fails = lambda _: RateLimitError(retry_after=asked)
        self.fail(guarded, FAILURES)
        assert self.fail(guarded).retry_after == pause

    def test_a_refused_text_is_no_sign_of_trouble(self, guarded, inner):
        inner.fails = lambda _: ProviderError("too long", refused=True)
        self.fail(guarded, FAILURES + 2)
        assert len(inner.calls) == FAILURES + 2

    def test_documents_pass_and_their_success_closes_the_guard(self, guarded, inner):
        self.fail(guarded, FAILURES + 2, kind="document")
        self.fail(guarded, FAILURES)
        assert guarded.reason
        inner.fails = None
        guarded.embed(["a"], kind="document")
        guarded.embed(["a"], kind="query")

    def test_a_clock_that_is_set_back_does_not_lengthen_the_pause(self, guarded, inner, clock):
        self.fail(guarded, FAILURES)
        clock.advance(-86_400)
        inner.fails = None
        guarded.embed(["a"], kind="query")
