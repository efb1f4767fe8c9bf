"""Two things are never taken for one that changed, whoever proposes it; what changed is known by its date."""

from __future__ import annotations

import pytest
from benchmarks.truth import WAYS, known, measure, read_stories, tell

from orca import Scope
from orca.memory.review import same_matter
from orca.memory.similarity import differs_in_one_place
from orca.types import Candidate, Memory

ALICE = Scope(user="alice")
STORIES = {story["id"]: story for story in read_stories()}


@pytest.mark.case(16)
@pytest.mark.parametrize(
    ("old", "new", "one"),
    [
        ("The port is 8080", "The port is 8081", True),
        ("The staging port is 8080", "The production port is 8081", False),
        ("测试服务器的端口是8080", "正式服务器的端口是8081", False),
        ("The user has a cat named Mochi", "The user has a dog named Biscuit", False),
        ("The user prefers dark mode", "The user now prefers light mode", True),
        ("The user likes hiking", "The user likes hiking in the Alps", True),
    ],
)
def test_an_update_changes_one_thing(old: str, new: str, one: bool) -> None:
    assert differs_in_one_place(old, new) is one
    assert same_matter(Candidate(content=new), Memory(content=old)) is one


@pytest.mark.case(16)
@pytest.mark.case(25)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "name", ["zh-two-people", "en-two-people", "zh-remember-port", "en-job", "zh-move-twice"]
)
def test_stories_keep_apart_what_is_two_and_know_what_is_true(name: str, way: str) -> None:
    tally = measure([STORIES[name]], WAYS[way])
    assert (tally.merged, tally.lost, tally.stale) == ([], [], [])
    assert tally.right == tally.questions


@pytest.mark.case(30)
def test_what_was_true_is_known_for_each_time_with_its_history() -> None:
    from_to = [("2026-01-05", "I live in Berlin."), ("2026-02-10", "I moved to Oslo.")]
    with tell(from_to, None) as memory:
        assert "Berlin" in "".join(known(memory, "2026-01-20"))
        assert known(memory, "2026-01-01") == []
        [now] = memory.memories(scope=ALICE)
        versions = memory.history(scope=ALICE, id=now.id or 0)
    assert [version.state for version in versions] == ["superseded", "active"]
    assert versions[0].valid_to == versions[1].valid_from
    assert versions[1].valid_to is None
