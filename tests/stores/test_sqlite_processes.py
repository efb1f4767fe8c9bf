"""Several processes on one file."""

import multiprocessing
import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from orca.types import Message

from .sqlite_helpers import SCOPE, failed_checks, open_store

SPAWN = multiprocessing.get_context("spawn")


def _write(path: str, worker: int, count: int) -> None:
    with open_store(path) as store:
        for number in range(count):
            store.messages.append(
                [Message(role="user", content=f"worker {worker} line {number}")], scope=SCOPE
            )


def _read(path: str, stop, failures) -> None:
    with open_store(path) as store:
        while not stop.wait(0.005):
            found = store.messages.search(["worker"], scope=SCOPE, limit=10)
            if found.degraded:
                failures.put(found.degraded)


def _write_for_ever(path: str, acknowledged) -> None:
    with open_store(path) as store:
        while True:
            stored = store.messages.append([Message(role="user", content="x")], scope=SCOPE)
            acknowledged.send(stored[0].id)


@pytest.mark.case(5)
def test_four_processes_write_while_a_fifth_searches(tmp_path):
    path = str(tmp_path / "chat.db")
    stop, failures = SPAWN.Event(), SPAWN.Queue()
    reader = SPAWN.Process(target=_read, args=(path, stop, failures))
    writers = [SPAWN.Process(target=_write, args=(path, n, 50)) for n in range(4)]
    for process in [reader, *writers]:
        process.start()
    for process in writers:
        process.join(60)
    stop.set()
    reader.join(30)
    assert [process.exitcode for process in [reader, *writers]] == [0] * 5
    assert failures.empty()
    with open_store(path) as store:
        assert [m.position for m in store.messages.recent(scope=SCOPE)] == list(range(1, 201))
        assert len(store.sessions.find(user=SCOPE.user)) == 1
        assert failed_checks(store) == []


@pytest.mark.case(5)
def test_threads_open_a_fresh_file_at_once(tmp_path):
    path = tmp_path / "chat.db"
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda n: _write(str(path), n, 1), range(20)))
    with open_store(path) as store:
        assert store.messages.count(scope=SCOPE) == 20
        assert len(store.sessions.find(user=SCOPE.user)) == 1


@pytest.mark.case(5)
def test_a_killed_writer_loses_nothing_it_was_told_is_stored(tmp_path):
    path = str(tmp_path / "chat.db")
    ours, theirs = SPAWN.Pipe(duplex=False)
    writer = SPAWN.Process(target=_write_for_ever, args=(path, theirs))
    writer.start()
    acknowledged = [ours.recv() for _ in range(20)]
    os.kill(writer.pid, signal.SIGKILL)
    writer.join(30)
    with open_store(path) as store:
        stored = {m.id for m in store.messages.recent(scope=SCOPE)}
        assert stored.issuperset(acknowledged)
        assert failed_checks(store) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_opens_its_own_connections(tmp_path):
    with open_store(tmp_path / "chat.db") as store:
        store.messages.append([Message(role="user", content="parent")], scope=SCOPE)
        store.messages.count()
        child = os.fork()
        if child == 0:
            stored = store.messages.append([Message(role="user", content="child")], scope=SCOPE)
            os._exit(0 if stored[0].position == 2 and store.messages.count() == 2 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        store.messages.append([Message(role="user", content="parent again")], scope=SCOPE)
        assert [m.content for m in store.messages.recent(scope=SCOPE)] == ["parent", "child", "parent again"]
        assert failed_checks(store) == []
