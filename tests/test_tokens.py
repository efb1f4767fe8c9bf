import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orca import tokens
from orca.errors import ConfigError
from orca.tokens import ENCODINGS, EstimatedCounter, ExactCounter, default_counter

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))


@pytest.fixture(scope="module")
def exact():
    return ExactCounter()


def test_known_counts(exact):
    assert exact.count("") == 0
    assert exact.count("hello world") == 2
    assert exact.name == "o200k_base"


@pytest.mark.case(6)
def test_chinese_is_neither_undercounted_nor_wasteful(exact):
    text = "今天我们讨论了一下上海出差的行程安排，他说要吃素。" * 8
    assert 0.45 * len(text) < exact.count(text) < len(text)
    assert EstimatedCounter().count(text) >= exact.count(text)


@pytest.mark.case(6)
@pytest.mark.parametrize("marker", ["<|endoftext|>", "<|im_start|>user", "<|im_end|>", "<|endofprompt|>"])
def test_markers_of_special_tokens_are_plain_text(exact, marker):
    assert exact.count(marker) > 1
    assert exact.count(f"before {marker} after") >= exact.count("before  after")


@pytest.mark.case(8)
@pytest.mark.parametrize("counter", [ExactCounter(), EstimatedCounter()], ids=lambda counter: counter.name)
@given(text=ANY_TEXT)
@settings(deadline=None)  # the first count loads the table
def test_any_string_is_counted(counter, text):
    count = counter.count(text)
    assert type(count) is int
    assert count >= bool(text)


@given(left=ANY_TEXT, right=ANY_TEXT)
@settings(deadline=None)
def test_the_estimate_grows_with_the_text(left, right):
    counter = EstimatedCounter()
    assert counter.count(left) <= counter.count(left + right)
    assert counter.count(left + right) <= counter.count(left) + counter.count(right)


def test_the_estimate_is_the_seeds():
    assert EstimatedCounter().count("你好世界") == 6
    assert EstimatedCounter().count("abcdefgh") == 2


def test_making_a_counter_loads_nothing(monkeypatch):
    monkeypatch.setattr(tokens.toktok, "batch_count", lambda *_, **__: pytest.fail("loaded"))
    assert default_counter().name == "o200k_base"


def test_the_table_is_never_built_by_two_threads_at_once(monkeypatch):
    building = threading.Lock()
    together = []

    def count(texts, *_, **__):
        if texts == [""]:
            together.append(not building.acquire(blocking=False))
            threading.Event().wait(0.005)  # room for another thread to come in, if the door is open
            if not together[-1]:
                building.release()
        return [1]

    monkeypatch.setattr(tokens.toktok, "batch_count", count)
    counter = ExactCounter()
    threads = [threading.Thread(target=counter.count, args=("a",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together
    assert not any(together)


@pytest.mark.case(6)
def test_without_the_package_the_estimate_serves_and_says_so(monkeypatch):
    monkeypatch.setattr(tokens, "toktok", None)
    assert default_counter().name == "estimate"
    with pytest.raises(ConfigError, match="toktok-rs"):
        ExactCounter()


@pytest.mark.parametrize("installed", [True, False])
def test_an_unknown_encoding_names_the_known_ones(monkeypatch, installed):
    if not installed:
        monkeypatch.setattr(tokens, "toktok", None)
    with pytest.raises(ConfigError, match="o200k_base"):
        default_counter("gpt-99")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_that_is_named_exists(encoding):
    assert ExactCounter(encoding).count("hello") >= 1
