"""``orca forget`` shows what would go, lets it go, and proves it."""

from __future__ import annotations

import pytest

from .conftest import Orca

pytestmark = pytest.mark.case(19)


def test_a_dry_run_counts_and_deletes_nothing(loaded: Orca) -> None:
    before = loaded.json("status")["counts"]
    would = loaded.json("forget", "--session", "trip", "--dry-run")["would_delete"]
    assert (would["sessions"], would["messages"]) == (1, 2)
    assert loaded.json("status")["counts"] == before
    assert "2" in loaded("forget", "--session", "trip", "--dry-run").out


def test_a_session_goes_with_its_traces(loaded: Orca) -> None:
    gone = loaded.json("forget", "--session", "trip")
    assert gone["ok"] is True
    assert gone["deleted"]["messages"] == 2
    assert any(check["name"].startswith("traces in") for check in gone["checks"])
    assert [item["id"] for item in loaded.json("sessions", "list")["sessions"]] == ["work"]
    assert "上海".encode() not in loaded.db.read_bytes()


def test_a_memory_or_a_whole_user_goes(loaded: Orca) -> None:
    [added] = loaded.json("memories", "add", "the chrysanthemum wall")["memories"]
    assert loaded.json("forget", str(added["id"]))["deleted"]["memories"] == 1
    assert b"chrysanthemum" not in loaded.db.read_bytes()
    assert loaded.json("forget", "--user", "default")["ok"] is True
    assert loaded.json("sessions", "list")["sessions"] == []


def test_nothing_named_is_wrong_use(loaded: Orca) -> None:
    assert loaded("forget").code == 2
    assert loaded("forget", "--session", "trip", "--messages").code == 2
    assert loaded("forget", "--session", "never").code == 1
    assert len(loaded.json("sessions", "list")["sessions"]) == 2
