"""What is special to plain files: names, crashes, several processes, full disks, and logs that lay there before."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import threading
from pathlib import Path

import pytest

from orca.errors import StoreUnavailableError
from orca.stores import jsonl_files
from orca.stores.jsonl import JSONLStore
from orca.stores.jsonl_files import file_name, is_own_name
from orca.testing import FixedClock
from orca.types import Message, Scope

SCOPE = Scope(user="u", session="s")


def said(*texts: str) -> list[Message]:
    return [Message(role="user", content=text) for text in texts]


def texts(store: JSONLStore, scope: Scope = SCOPE) -> list[object]:
    return [message.content for message in store.recent(scope=scope)]


def open_log(path: Path) -> JSONLStore:
    return JSONLStore(path, clock=FixedClock())


def only_file(directory: Path) -> Path:
    (path,) = directory.glob("*.jsonl")
    return path


@pytest.mark.case(13)
@pytest.mark.parametrize(
    "session",
    [
        "../../x",
        "/etc/passwd",
        "CON",
        "nul.txt",
        "a\x00b",
        "x" * 300,
        "trailing...",
        "A/B",
        "用户",
        "",
        "a\nb",
        "~",
        "-rf",
    ],
)
def test_names_are_safe_everywhere(tmp_path: Path, session: str) -> None:
    name = file_name(Scope(session=session))
    assert is_own_name(name)
    assert len(name) < 100
    assert name == name.lower()
    assert name.isascii()
    store = open_log(tmp_path / "log")
    store.append(said("a"), scope=Scope(session=session))
    assert sorted(path.name for path in tmp_path.rglob("*")) == [".lock", "log", name]
    lines = [json.loads(line) for line in only_file(tmp_path / "log").read_text("utf-8").splitlines()]
    assert [line["session"] for line in lines] == [session, session]


@pytest.mark.case(13)
def test_ids_that_differ_by_case_alone_have_names_that_differ_by_more() -> None:
    assert len({file_name(Scope(session=name)).lower() for name in ("a", "A", "ａ")}) == 3
    assert file_name(Scope(user="a", session="b")) != file_name(Scope(user="b", session="a"))


def test_nothing_is_created_before_the_first_write(tmp_path: Path) -> None:
    store = open_log(tmp_path / "log")
    assert (store.count(), store.recent(scope=SCOPE), store.scopes()) == (0, [], [])
    assert list(tmp_path.iterdir()) == []


def test_another_opening_sees_everything_and_goes_on(tmp_path: Path) -> None:
    first, second = open_log(tmp_path), open_log(tmp_path)
    ids = [first.append(said("a"), scope=SCOPE)[0].id, second.append(said("b"), scope=SCOPE)[0].id]
    ids += [first.append(said("c"), scope=Scope(session="other"))[0].id]
    assert ids == sorted(set(ids))
    second.delete([ids[0]], scope=SCOPE)
    assert texts(first) == texts(open_log(tmp_path)) == ["b"]
    second.delete([ids[1], ids[2]], scope=SCOPE)
    assert first.append(said("d"), scope=SCOPE)[0].position == 3


@pytest.mark.case(18)
@pytest.mark.parametrize("tail", [b'{"id": 3, "position"', b"\xe4\xbd", b"\x00" * 100, b"{}"])
def test_a_line_that_a_crash_cut_off_is_ignored_and_removed(tmp_path: Path, tail: bytes) -> None:
    open_log(tmp_path).append(said("a", "b"), scope=SCOPE)
    path = only_file(tmp_path)
    with path.open("ab") as file:
        file.write(tail)
    store = open_log(tmp_path)
    assert texts(store) == ["a", "b"]
    store.append(said("c"), scope=SCOPE)
    assert texts(store) == texts(open_log(tmp_path)) == ["a", "b", "c"]
    assert tail not in path.read_bytes().split(b"\n")


def test_a_damaged_line_inside_hides_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    open_log(tmp_path).append(said("a", "b", "c"), scope=SCOPE)
    path = only_file(tmp_path)
    lines = path.read_bytes().split(b"\n")
    lines[2] = b'{"id": "damaged"}'
    path.write_bytes(b"\n".join(lines))
    store = open_log(tmp_path)
    assert texts(store) == ["a", "c"]
    assert path.name in caplog.text
    store.delete([1], scope=SCOPE)
    assert b'{"id": "damaged"}' in path.read_bytes()


@pytest.mark.case(23)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_a_full_disk_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    store = open_log(tmp_path)
    store.append(said("a"), scope=SCOPE)
    before = only_file(tmp_path).read_bytes()
    write = os.write

    def half(descriptor: int, data: memoryview) -> int:
        if len(data) > 20:
            return write(descriptor, data[:20])
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(jsonl_files.os, "write", half)
    with pytest.raises(StoreUnavailableError, match="disk"):
        store.append(said("b"), scope=SCOPE)
    monkeypatch.undo()
    assert only_file(tmp_path).read_bytes() == before
    store.append(said("c"), scope=SCOPE)
    assert texts(store) == ["a", "c"]


@pytest.mark.case(23)
def test_a_folder_that_cannot_be_made_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    store = open_log(tmp_path / "file" / "log")
    with pytest.raises(StoreUnavailableError, match="file"):
        store.append(said("a"), scope=SCOPE)


@pytest.mark.case(5)
def test_threads_write_at_once(tmp_path: Path) -> None:
    store = open_log(tmp_path)

    def write(number: int) -> None:
        for turn in range(10):
            store.append(said(f"{number}.{turn}"), scope=SCOPE)
            store.count()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    found = open_log(tmp_path).recent(scope=SCOPE)
    assert [message.position for message in found] == list(range(1, 41))


def _write_from_a_process(directory: str, number: int) -> None:
    store = JSONLStore(directory, clock=FixedClock())
    for turn in range(15):
        store.append(said(f"{number}.{turn}"), scope=Scope(session=f"s{turn % 2}"))


@pytest.mark.case(5)
def test_processes_write_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_write_from_a_process, args=(str(tmp_path), n)) for n in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    store = open_log(tmp_path)
    found = [message for name in ("s0", "s1") for message in store.recent(scope=Scope(session=name))]
    assert len({message.id for message in found}) == len(found) == 30
    assert len({message.content for message in found}) == 30


class TestOldLogs:
    """Plain logs are read where they lie, and keep their ids."""

    @pytest.fixture
    def directory(self, tmp_path: Path) -> Path:
        lines = [
            {"role": "human", "content": "一 plum", "timestamp": "2026-01-02T03:04:05+08:00"},
            {"role": "ai", "content": "two"},
            "broken",
            {"role": "user", "content": "three", "session": "named"},
        ]
        text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
        (tmp_path / "Old Chat.jsonl").write_bytes(b"\xef\xbb\xbf" + text.encode())
        return tmp_path

    def test_they_are_sessions_of_the_default_user(self, directory: Path) -> None:
        store = open_log(directory)
        old = Scope(session="Old Chat")
        assert texts(store, old) == ["一 plum", "two"]
        assert texts(store, Scope(session="named")) == ["three"]
        assert [message.role for message in store.recent(scope=old)] == ["user", "assistant"]
        assert len(store.search(["plum"], scope=Scope(), limit=5).matches) == 1
        assert store.count() == 3
        assert texts(store, Scope(user="u", session="Old Chat")) == []

    def test_ids_last_and_new_messages_follow(self, directory: Path) -> None:
        old = Scope(session="Old Chat")
        before = open_log(directory).recent(scope=old)
        store = open_log(directory)
        assert store.recent(scope=old) == before
        new = store.append(said("new"), scope=old)[0]
        assert new.position == 3
        assert new.id > max(message.id for message in store.recent(scope=Scope(session="named")))
        with (directory / "Old Chat.jsonl").open("a") as file:
            file.write('{"role": "user", "content": "later"}\n')
        assert texts(open_log(directory), old) == texts(store, old) == ["一 plum", "two", "new", "later"]

    def test_deleting_blanks_the_line_and_no_other(self, directory: Path) -> None:
        store = open_log(directory)
        old = Scope(session="Old Chat")
        first, second = store.recent(scope=old)
        assert store.delete([first.id], scope=old) == 1
        assert "plum" not in (directory / "Old Chat.jsonl").read_text("utf-8")
        assert store.recent(scope=old) == open_log(directory).recent(scope=old) == [second]
        assert store.append(said("x"), scope=old)[0].id > second.id

    def test_a_directory_that_can_only_be_read_gives_the_same_ids(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise OSError(errno.EROFS, "read-only")

        monkeypatch.setattr("orca.stores.jsonl_old_logs.append_durably", refuse)
        old = Scope(session="Old Chat")
        found = open_log(directory).recent(scope=old)
        assert [message.id for message in found] == [1, 2]
        assert open_log(directory).recent(scope=old) == found
