"""What only a process of its own shows: streams, encodings, interruption, and the demo from nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ORCA = [sys.executable, "-c", "from orca.interfaces.cli.main import main; main()"]


def run(tmp_path: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    env = {
        name: value for name, value in os.environ.items() if not name.startswith(("ORCA_", "SILICONFLOW_"))
    }
    env |= {"ORCA_HOME": str(tmp_path / "home"), "ORCA_EMBEDDING_PROVIDER": "off", "TERM": "dumb", **environ}
    return subprocess.run([*ORCA, *words], capture_output=True, env=env, timeout=100, check=False)


def test_utf8_is_written_whatever_the_terminal_claims(tmp_path: Path) -> None:
    done = run(tmp_path, "--help", LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0", ORCA_LANG="zh")
    assert "用法" in done.stdout.decode("utf-8")


def test_json_stands_alone_on_standard_output_and_pipes_get_no_colour(tmp_path: Path) -> None:
    db = str(tmp_path / "chat.db")
    log = tmp_path / "log.jsonl"
    log.write_text('{"role": "user", "content": "我只吃素。"}\n', encoding="utf-8")
    assert json.loads(run(tmp_path, "import", str(log), "--db", db, "--json").stdout)["imported"] == 1
    words = run(tmp_path, "recall", "吃素", "--db", db)
    assert "我只吃素".encode() in words.stdout
    assert b"\x1b[" not in words.stdout + words.stderr


def test_the_old_name_of_the_migration_is_kept(tmp_path: Path) -> None:
    script = (
        "import sys; from orca.interfaces.cli.main import migrate_jsonl_to_sqlite; migrate_jsonl_to_sqlite()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "--help"], capture_output=True, timeout=60, check=False
    )
    assert b"orca migrate-jsonl DIR" in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="a closed pipe is a signal on POSIX")
def test_a_reader_that_leaves_early_causes_no_traceback(tmp_path: Path) -> None:
    script = f"{sys.executable} -c 'from orca.interfaces.cli.main import main; main()' --help | head -1"
    done = subprocess.run(script, shell=True, capture_output=True, timeout=60, check=False)
    assert b"Traceback" not in done.stderr


def test_the_demo_recalls_its_answers_from_nothing(tmp_path: Path) -> None:
    db = tmp_path / "demo.db"
    done = run(tmp_path, "demo", "--db", str(db), "--json", ORCA_EMBEDDING_PROVIDER="siliconflow")
    facts = json.loads(done.stdout)
    missed = [answer["question"]["text"] for answer in facts["questions"] if answer["hit"] is None]
    assert (done.returncode, missed, facts["ok"], facts["pending"]) == (0, [], True, 0), done.stderr.decode()
    assert facts["counts"]["messages"] >= 150
    assert len(facts["sessions"]) > 3
    assert facts["context"]["tokens"] <= facts["context"]["budget"]
    assert facts["run"]["agent"] == "coder"
    assert facts["trace_messages"] > 1
    again = run(tmp_path, "demo", "--db", str(db))
    assert again.returncode == 1
    recalled = run(tmp_path, "recall", "猫对什么过敏？", "--db", str(db), "--json")
    assert json.loads(recalled.stdout)["hits"]
