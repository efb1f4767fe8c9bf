"""Each command does its work and prints the document that is promised."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from tests.interfaces.cli.conftest import Orca

HIT = {"kind", "id", "session", "content", "score", "lanes", "created_at", "source"}


def test_recall_prints_hits(loaded: Orca) -> None:
    document = loaded.json("recall", "上海 素食", "-k", "3")
    assert set(document) == {"hits", "degraded"}
    assert 1 <= len(document["hits"]) <= 3
    [hit, *_] = [item for item in document["hits"] if "素" in item["content"]]
    assert set(hit) >= HIT
    assert 0 <= hit["score"] <= 1
    assert "keyword" in hit["lanes"]
    scores = [item["score"] for item in document["hits"]]
    assert scores == sorted(scores, reverse=True)
    moment = datetime.fromisoformat(hit["created_at"])
    assert moment.utcoffset() is not None
    assert not moment.utcoffset()


def test_recall_explains_itself(loaded: Orca) -> None:
    outcome = loaded("recall", "Friday", "--explain")
    assert "shipping on Friday" in outcome.out
    assert "keyword #" in outcome.out
    assert "关键词 #" in loaded("recall", "Friday", "--explain", "--lang", "zh").out


@pytest.mark.case(3)
@pytest.mark.parametrize(
    "query", ["C++", "'", '"', "(", "*", "AND OR NEAR", "v1.2.3", "a/b:c@d", "的", " ", "x" * 10_000]
)
def test_any_query_is_answered(loaded: Orca, query: str) -> None:
    outcome = loaded.run("--db", str(loaded.db), "recall", "--json", "--", query)
    assert outcome.code == 0, outcome.err
    assert isinstance(outcome.json()["hits"], list)


def test_context_prints_prompt_and_ledger(loaded: Orca) -> None:
    document = loaded.json(
        "context", "上海", "--session", "trip", "--window", "4096", "--system", "Be brief."
    )
    assert set(document) == {"messages", "items", "tokens", "budget", "degraded"}
    assert document["tokens"] <= document["budget"] == int(4096 * 0.6)
    assert document["messages"][0] == {"role": "system", "content": "Be brief."}
    assert {"tier", "id", "tokens", "score", "included", "reason"} <= set(document["items"][0])
    shown = loaded("context", "上海", "--session", "trip").out
    assert "Ledger" in shown
    assert "of 4915 tokens" in shown


def test_memories_from_adding_to_forgetting(orca: Orca) -> None:
    [added] = orca.json("memories", "add", "用户只吃素", "--kind", "preference")["memories"]
    assert (added["content"], added["kind"]) == ("用户只吃素", "preference")
    [edited] = orca.json("memories", "edit", str(added["id"]), "用户吃鱼，不吃肉")["memories"]
    [pinned] = orca.json("memories", "pin", str(edited["id"]))["memories"]
    assert pinned["pinned"] is True
    assert orca.json("memories", "pin", str(edited["id"]), "--off")["memories"][0]["pinned"] is False
    versions = orca.json("memories", "history", str(edited["id"]))["memories"]
    assert [item["content"] for item in versions] == ["用户只吃素", "用户吃鱼，不吃肉"]
    assert len(orca.json("memories", "list")["memories"]) == 1
    assert len(orca.json("memories", "list", "--all")["memories"]) == 2
    assert "用户吃鱼" in orca("memories", "list").out
    assert orca.json("memories", "forget", str(edited["id"]))["deleted"] == 2
    assert orca.json("memories", "list", "--all")["memories"] == []
    assert orca("memories", "history", str(edited["id"])).code == 1


def test_a_wrong_kind_is_named(orca: Orca) -> None:
    outcome = orca("memories", "add", "x", "--kind", "opinion")
    assert outcome.code == 2
    assert "preference, fact, decision, project" in outcome.err


def test_sessions_from_listing_to_deleting(loaded: Orca) -> None:
    assert {item["id"] for item in loaded.json("sessions", "list")["sessions"]} == {"trip", "work"}
    shown = loaded.json("sessions", "show", "trip")
    assert [item["id"] for item in shown["sessions"]] == ["trip"]
    assert [item["role"] for item in shown["messages"]] == ["user", "assistant"]
    assert loaded.json("sessions", "show", "--session", "trip") == shown
    assert loaded.json("sessions", "end", "trip")["sessions"][0]["state"] == "ended"
    assert "素" in loaded("memories", "list").out
    deleted = loaded.json("sessions", "delete", "trip", "--erase")
    assert deleted["deleted"]["messages"] == 2
    assert [item["id"] for item in loaded.json("sessions", "list")["sessions"]] == ["work"]
    assert loaded("sessions", "show", "trip").code == 1
    assert "上海".encode() not in loaded.db.read_bytes()


def test_status_and_verify(loaded: Orca) -> None:
    status = loaded.json("status")
    assert status["counts"]["messages"] == 4
    assert status["backend"] == "sqlite"
    assert {"spaces", "backlog", "degraded", "counter", "embedder", "location"} <= set(status)
    report = loaded.json("verify")
    assert report["ok"] is True
    assert report["checks"]
    assert "all checks hold" in loaded("verify").out
    assert "sqlite" in loaded("status").out


def test_reindex_touches_no_text(loaded: Orca) -> None:
    before = loaded.json("sessions", "show", "trip")
    counts = loaded.json("reindex", "--vectors")
    assert counts["pending"] >= 0
    assert loaded.json("sessions", "show", "trip") == before
    assert loaded.json("recall", "Friday")["hits"]


@pytest.mark.case(33)
def test_an_export_is_read_again_in_full(loaded: Orca, tmp_path: Path) -> None:
    loaded.json("memories", "add", "用户只吃素")
    loaded.json("memories", "edit", "1", "用户吃鱼")
    file = tmp_path / "export.jsonl"
    rows = loaded.json("export", str(file))["rows"]
    other = Orca(tmp_path / "other.db")
    report = other.json("import", str(file))
    assert (report["imported"], report["errors"]) == (sum(rows.values()), [])
    again = tmp_path / "again.jsonl"
    other.json("export", str(again))
    assert sorted(again.read_text("utf-8").splitlines()) == sorted(file.read_text("utf-8").splitlines())
    repeated = other.json("import", str(file))
    assert (repeated["imported"], repeated["skipped"]) == (0, report["imported"])
    assert other.json("recall", "Friday")["hits"]


@pytest.mark.case(33)
def test_an_export_overwrites_nothing_and_leaves_no_half(loaded: Orca, tmp_path: Path) -> None:
    file = tmp_path / "export.jsonl"
    file.write_text("mine")
    assert loaded("export", str(file)).code == 1
    assert file.read_text() == "mine"
    assert loaded("export", str(file), "--force").code == 0
    assert loaded("export", str(tmp_path / "no" / "dir.jsonl")).code == 1
    assert not list(tmp_path.glob("*.partial")) + list(tmp_path.glob(".*.partial"))


def test_an_export_goes_to_standard_output(loaded: Orca) -> None:
    lines = [json.loads(line) for line in loaded("export").out.splitlines()]
    assert lines[0] == {"orca_export": 1}
    document = loaded.json("export")
    assert document["rows"] == lines[1:]


@pytest.mark.case(33)
@pytest.mark.parametrize("damage", ["{", '{"table": 1}', "null", '"text"'])
def test_a_damaged_line_of_an_export_is_named(loaded: Orca, tmp_path: Path, damage: str) -> None:
    file = tmp_path / "export.jsonl"
    loaded("export", str(file))
    lines = file.read_text("utf-8").splitlines()
    file.write_text("\n".join([*lines, damage]) + "\n", "utf-8")
    other = Orca(tmp_path / "other.db")
    report = other.json("import", str(file), code=3)
    assert [error["line"] for error in report["errors"]] == [len(lines) + 1]
    assert other.json("status")["counts"]["messages"] == 4


def test_an_export_of_another_version_is_refused(orca: Orca, tmp_path: Path) -> None:
    file = tmp_path / "export.jsonl"
    file.write_text('{"orca_export": 99}\n')
    [error] = orca.json("import", str(file), code=1)["errors"]
    assert "99" in error["reason"]


@pytest.mark.case(33)
def test_a_backup_holds_everything(loaded: Orca, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    document = loaded.json("backup", str(copy))
    assert document["bytes"] == copy.stat().st_size
    assert Orca(copy).json("status")["counts"] == loaded.json("status")["counts"]
    assert loaded("backup", str(copy)).code == 1


@pytest.mark.case(18)
def test_a_bad_line_is_reported_and_the_others_are_kept(orca: Orca, log: Path) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write(
            '{"role": "user", "content": \n{"session": "work", "role": "user", "content": "One more line."}\n'
        )
    report = orca.json("import", str(log), code=3)
    assert set(report) == {"imported", "skipped", "errors", "sessions"}
    assert report["imported"] == 5
    [error] = report["errors"]
    assert (error["line"], Path(error["file"]).name) == (5, "log.jsonl")
    assert error["reason"]
    assert "line 5" in orca("import", str(log)).out


@pytest.mark.case(18)
def test_a_second_import_adds_nothing(loaded: Orca, log: Path) -> None:
    report = loaded.json("import", str(log))
    assert (report["imported"], report["skipped"]) == (0, 4)
    assert loaded.json("status")["counts"]["messages"] == 4


@pytest.mark.case(13)
@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "CON", "a\\b", "john_doe", "%", "日记 1", "a:b"])
def test_ids_are_data(orca: Orca, tmp_path: Path, name: str) -> None:
    before = {path.name for path in tmp_path.parent.iterdir()}
    assert orca("chat", "--once", "The password is tangerine.", "--session", name, "--user", name).code == 0
    mine = orca.json("recall", "tangerine", "--user", name)
    assert mine["hits"]
    for other in ("john-doe", "johnXdoe", "default", "x"):
        assert orca.json("recall", "tangerine", "--user", other)["hits"] == []
    assert [item["id"] for item in orca.json("sessions", "list", "--user", name)["sessions"]] == [name]
    assert all(path.name.startswith("chat.db") for path in tmp_path.iterdir())
    assert {path.name for path in tmp_path.parent.iterdir()} == before


def test_runs_are_listed_and_shown(orca: Orca) -> None:
    samples = Path(__file__).parents[3] / "src" / "orca" / "samples"
    assert orca("import", str(samples)).code == 0
    runs = orca.json("runs", "list")["runs"]
    assert [run["agent"] for run in runs] == ["coder"]
    shown = orca.json("runs", "show", str(runs[0]["id"]))
    assert shown["runs"] == runs
    assert len(shown["messages"]) > 1
    assert orca("runs", "show", str(runs[0]["id"])).code == 0
    assert orca("runs", "show", "999").code == 1
    assert orca.json("runs", "list", "--user", "somebody else")["runs"] == []
