"""What only a process of its own shows: streams, encodings, interruption, and the demo from nothing."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.interfaces.cli.conftest import Orca

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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_output_that_cannot_be_written_is_a_failure_in_one_line(tmp_path: Path) -> None:
    orca = f"{sys.executable} -c 'from orca.interfaces.cli.main import main; main()'"
    script = f"{orca} --json --db {tmp_path}/none.db status > /dev/full"
    done = subprocess.run(script, shell=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_an_interruption_keeps_what_was_done(tmp_path: Path) -> None:
    db = tmp_path / "chat.db"
    words = [*ORCA, "chat", "--db", str(db), "--session", "talk"]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        encoding="utf-8",
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("I keep bees in the garden.\n")
        process.stdin.flush()
        assert "Kept" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, noise = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "what was done is kept" in noise
    assert "Traceback" not in noise
    [message] = Orca(db).json("sessions", "show", "talk")["messages"]
    assert message["content"] == "I keep bees in the garden."


def _stored(db: Path) -> int:
    """Return how many messages another process has stored so far."""
    if not db.exists():
        return 0
    with closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM main_messages").fetchone()[0])
        except sqlite3.OperationalError:  # its tables are not made yet
            return 0


@pytest.mark.case(18)
@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_an_interrupted_import_goes_on_with_the_same_command(tmp_path: Path) -> None:
    lines = 6_000
    log = tmp_path / "log.jsonl"
    with log.open("w", encoding="utf-8") as file:
        for number in range(lines):
            file.write(json.dumps({"session": "s", "role": "user", "content": f"Line {number} 行"}) + "\n")
    orca = Orca(tmp_path / "chat.db")
    words = ["import", str(log), "--db", str(orca.db), "--no-wait"]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen([*ORCA, *words], stderr=subprocess.PIPE, env=env, encoding="utf-8") as process:
        while not _stored(orca.db):  # the first batch is on disk, and others are to come
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=0.02)
        process.send_signal(signal.SIGINT)
        _, noise = process.communicate(timeout=60)
    before = _stored(orca.db)
    assert process.returncode == 130, noise
    assert "the same command goes on from there" in noise
    assert "Traceback" not in noise
    assert 0 < before < lines
    report = orca.run(*words, "--json").json()
    assert (report["imported"], report["skipped"]) == (lines - before, before)
    assert _stored(orca.db) == lines


def test_the_demo_recalls_its_answers_from_nothing(tmp_path: Path, orca: Orca) -> None:
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
    assert orca.run("demo", "--db", str(db)).code == 1
    assert Orca(db).json("recall", "猫对什么过敏？")["hits"]
