"""The common options, wrong use, and errors: one line, one document, one exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interfaces.cli.conftest import Orca

NEEDS_A_STORE = [
    ["recall", "x"], ["context", "x"], ["status"], ["verify"], ["reindex"], ["export"], ["memories", "list"],
    ["memories", "edit", "1", "x"], ["memories", "pin", "1"], ["memories", "forget", "1"], ["memories", "history", "1"],
    ["sessions", "list"], ["sessions", "show", "s"], ["sessions", "end", "s"], ["sessions", "delete", "s"],
    ["runs", "list"], ["runs", "show", "1"],
]  # fmt: skip


@pytest.mark.case(33)
@pytest.mark.parametrize("words", NEEDS_A_STORE, ids=" ".join)
def test_a_store_that_is_not_there_is_an_error_and_stays_absent(
    orca: Orca, tmp_path: Path, words: list[str]
) -> None:
    outcome = orca(*words)
    assert outcome.code == 1
    assert str(orca.db) in outcome.err
    assert outcome.out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.case(33)
def test_a_backup_of_nothing_makes_no_file(orca: Orca, tmp_path: Path) -> None:
    assert orca("backup", str(tmp_path / "copy.db")).code == 1
    assert orca("export", str(tmp_path / "copy.jsonl")).code == 1
    assert orca("import", str(tmp_path / "no.jsonl")).code == 1
    assert orca("migrate-jsonl", str(tmp_path / "none")).code == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.case(33)
@pytest.mark.parametrize("words", [*NEEDS_A_STORE, ["memories", "add", "x"]], ids=" ".join)
def test_a_store_that_cannot_be_opened_is_no_empty_store(
    orca: Orca, tmp_path: Path, words: list[str]
) -> None:
    orca.db.write_bytes(b"no database at all" * 400)
    outcome = orca(*words)
    if words == ["status"]:
        assert (outcome.code, "degraded" in outcome.out) == (0, True)
    else:
        assert (outcome.code, outcome.out) == (1, "")
        assert str(orca.db) in outcome.err
    assert orca.db.read_bytes().startswith(b"no database at all")


def test_the_configured_store_is_checked_too(
    orca: Orca, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ORCA_STORAGE_URL", str(tmp_path / "nowhere.db"))
    outcome = orca.run("status")
    assert outcome.code == 1
    assert "nowhere.db" in outcome.err


@pytest.mark.parametrize(
    "words",
    [["recal", "x"], ["recall"], ["recall", "x", "--nope"], ["recall", "x", "-k", "0"], ["recall", "x", "-k", "-1"],
     ["recall", "x", "-k", "ten"], ["memories"], ["memories", "pin", "one"], ["recall", "x", "--user", " "],
     ["status", "--lang", "fr"], ["context", "x", "--window", "0"]],
    ids=" ".join,
)  # fmt: skip
@pytest.mark.case(3)
def test_wrong_use_is_2_in_words_and_in_json(orca: Orca, words: list[str]) -> None:
    outcome = orca.run(*words)
    assert (outcome.code, outcome.out) == (2, "")
    assert "--help" in outcome.err
    assert "Traceback" not in outcome.err
    document = orca.run(*words, "--json").json()
    assert document["error"]["type"] == "UsageError"
    assert document["error"]["message"]


def test_wrong_use_speaks_chinese(orca: Orca) -> None:
    assert "没有这个命令" in orca.run("--lang", "zh", "recal").err


def test_an_error_is_one_line_and_one_document(orca: Orca) -> None:
    outcome = orca("status", "--json")
    assert outcome.json()["error"]["type"] == "NotFoundError"
    assert len(outcome.err.splitlines()) == 1
    assert "Traceback" in orca("status", "--debug").err


def test_an_unexpected_error_is_told_without_a_traceback(orca: Orca, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the roof\nis on fire")

    monkeypatch.setattr("orca.interfaces.cli.invocation.load_settings", broken)
    outcome = orca.run("status")
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    assert "RuntimeError: the roof is on fire" in outcome.err
    assert "Traceback" in orca.run("status", "--debug").err


def test_an_interruption_is_130_and_says_how_to_go_on(orca: Orca, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("orca.interfaces.cli.invocation.load_settings", interrupted)
    outcome = orca.run("status", "--json")
    assert outcome.code == 130
    assert "same command" in outcome.err
    assert outcome.json()["error"]["message"]


def test_an_address_of_an_unknown_kind_is_refused_without_its_password(orca: Orca) -> None:
    outcome = orca.run("status", "--db", "mysql://me:hunter2@host/db")
    assert outcome.code == 2
    assert "postgresql://" in outcome.err
    assert "hunter2" not in outcome.err


def test_common_options_stand_before_or_after_the_name(orca: Orca) -> None:
    db = ["--db", str(orca.db)]
    assert orca.run(*db, "--user", "ann", "memories", "add", "likes tea").code == 0
    assert orca.run("memories", *db, "--user", "bob", "add", "likes coffee").code == 0
    after = orca.run("memories", "list", *db, "--user", "ann", "--json").json()
    before = orca.run(*db, "--json", "--user", "ann", "memories", "list").json()
    assert before == after
    assert [item["content"] for item in after["memories"]] == ["likes tea"]
    inner = orca.run("--user", "ann", "memories", "list", *db, "--json", "--user", "bob").json()
    assert [item["content"] for item in inner["memories"]] == ["likes coffee"]
