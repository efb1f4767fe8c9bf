"""What can be wrong with a file, and what the store says then."""

import threading
from pathlib import Path

import apsw
import pytest

from orca.errors import ConflictError, MigrationError, StoreError, StoreUnavailableError
from orca.stores import _migrate
from orca.stores.sqlite import connection as driver
from orca.stores.sqlite.errors import CONFLICTS, OTHER, UNAVAILABLE
from orca.stores.sqlite.filesystem import filesystem_type
from orca.stores.sqlite.schema import PACKAGE, backup_path
from orca.types import Message

from .sqlite_helpers import SCOPE, SteppingClock, failed_checks, open_store


def _filled(path: Path, count: int = 50) -> None:
    with open_store(path) as store:
        store.messages.append(
            [Message(role="user", content=f"message {n}") for n in range(count)], scope=SCOPE
        )


def test_every_exception_of_the_driver_has_a_meaning():
    names = {
        name
        for name in dir(apsw)
        if isinstance(getattr(apsw, name), type)
        and issubclass(getattr(apsw, name), apsw.Error)
        and getattr(apsw, name) is not apsw.Error
    }
    assert names == set(UNAVAILABLE) | CONFLICTS | OTHER


@pytest.mark.case(23)
@pytest.mark.parametrize("name", sorted(UNAVAILABLE))
def test_an_error_that_stops_the_store_names_the_file_and_what_to_do(name):
    with pytest.raises(StoreUnavailableError, match=r"chat\.db") as caught, driver.translated("chat.db"):
        raise getattr(apsw, name)("reason")
    assert UNAVAILABLE[name] in str(caught.value)


@pytest.mark.case(23)
@pytest.mark.parametrize("damage", ["garbage", "zeroed first page", "truncated", "half a header"])
def test_a_damaged_file_is_named_and_left_as_it_is(tmp_path, damage):
    path = tmp_path / "chat.db"
    _filled(path)
    whole = path.read_bytes()
    damaged = {
        "garbage": b"this is no database" * 400,
        "zeroed first page": bytes(4096) + whole[4096:],
        "truncated": whole[: len(whole) // 2],
        "half a header": whole[:50],
    }[damage]
    path.write_bytes(damaged)
    for read_only in (False, True):
        with pytest.raises(StoreUnavailableError, match=r"chat\.db"):
            open_store(path, read_only=read_only)
    assert path.read_bytes() == damaged


@pytest.mark.case(23)
def test_a_full_disk_fails_the_write_and_nothing_else(tmp_path):
    with open_store(tmp_path / "chat.db") as store:
        store.messages.append([Message(role="user", content="before")], scope=SCOPE)
        writer = store._database._writer
        pages = writer.value("PRAGMA page_count")
        writer.run(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreUnavailableError, match="full"):
            store.messages.append([Message(role="user", content="x" * 100_000)], scope=SCOPE)
        writer.run("PRAGMA max_page_count = 1000000")
        store.messages.append([Message(role="user", content="after")], scope=SCOPE)
        assert [m.content for m in store.messages.recent(scope=SCOPE)] == ["before", "after"]
        assert failed_checks(store) == []


@pytest.mark.case(33)
def test_a_missing_file_opened_read_only_is_not_created(tmp_path):
    with pytest.raises(StoreUnavailableError, match="no such file"):
        open_store(tmp_path / "none.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.case(33)
def test_a_read_only_store_reads_exports_and_refuses_writes(tmp_path):
    path = tmp_path / "chat.db"
    _filled(path)
    with open_store(path, read_only=True) as store:
        assert store.messages.count() == 50
        assert sum(table == "main_messages" for table, _ in store.export_rows()) == 50
        assert failed_checks(store) == []
        with pytest.raises(StoreUnavailableError, match="read-only"):
            store.messages.append([Message(role="user", content="x")], scope=SCOPE)


@pytest.mark.case(33)
def test_a_backup_of_an_open_store_holds_every_row(tmp_path):
    with open_store(tmp_path / "chat.db") as store:
        store.messages.append([Message(role="user", content=f"m{n}") for n in range(50)], scope=SCOPE)
        target = tmp_path / "copy.db"
        assert store.backup(str(target)) == target.stat().st_size
        with pytest.raises(ConflictError):
            store.backup(str(target))
    with open_store(target) as copy:
        assert copy.messages.count() == 50
        assert failed_checks(copy) == []


@pytest.mark.case(23)
def test_a_network_folder_gets_no_write_ahead_log(tmp_path):
    with open_store(tmp_path / "chat.db", file_system=lambda folder: "nfs4") as store:
        assert store._database._writer.value("PRAGMA journal_mode") == "delete"
        assert any("nfs4" in reason for reason in store.degraded)
        store.messages.append([Message(role="user", content="x")], scope=SCOPE)
        assert not (tmp_path / "chat.db-wal").exists()


def test_the_mount_table_is_read_with_its_escapes(tmp_path):
    table = tmp_path / "mounts"
    folder = tmp_path / "my data"
    folder.mkdir()
    point = str(folder).replace(" ", "\\040")
    table.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/x {point} nfs4 rw 0 0\n")
    assert filesystem_type(folder / "below", table) == "nfs4"
    assert filesystem_type(tmp_path, table) == "ext4"
    assert filesystem_type(tmp_path, tmp_path / "none") is None


@pytest.mark.case(36)
def test_a_newer_schema_is_refused_in_words(tmp_path):
    path = tmp_path / "chat.db"
    _filled(path)
    raw = apsw.Connection(str(path))
    raw.execute("INSERT INTO schema_migrations VALUES (99, 'future', '2030-01-01')")
    raw.close()
    with pytest.raises(MigrationError, match="upgrade Orca"):
        open_store(path)


def test_the_database_of_another_program_is_refused(tmp_path):
    path = tmp_path / "other.db"
    raw = apsw.Connection(str(path))
    raw.execute("CREATE TABLE songs(title)")
    raw.close()
    with pytest.raises(MigrationError, match="songs"):
        open_store(path)


@pytest.mark.case(36)
def test_the_migrations_make_the_schema():
    def shape(sql: str) -> list[tuple[str, ...]]:
        raw = apsw.Connection(":memory:")
        raw.execute(sql)
        return raw.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name").fetchall()

    schema = (Path(driver.__file__).parent / "schema.sql").read_text(encoding="utf-8")
    assert shape("".join(step.sql for step in _migrate.load(PACKAGE))) == shape(schema)


@pytest.mark.case(36)
def test_a_failing_migration_changes_nothing_and_a_copy_exists(tmp_path, monkeypatch):
    path = tmp_path / "chat.db"
    _filled(path)
    steps = _migrate.load(PACKAGE)
    bad = _migrate.Migration(
        number=len(steps) + 1, name="bad", sql="CREATE TABLE fresh(x); CREATE TABLE meta(y);"
    )
    monkeypatch.setattr(_migrate, "load", lambda package: (*steps, bad))
    with pytest.raises(MigrationError, match=f"migration {len(steps) + 1}"):
        open_store(path)
    good = _migrate.Migration(number=len(steps) + 1, name="good", sql="CREATE TABLE fresh(x);")
    monkeypatch.setattr(_migrate, "load", lambda package: (*steps, good))
    with open_store(path) as store:
        assert store.schema_version == len(steps) + 1
        assert store.messages.count() == 50
    monkeypatch.setattr(_migrate, "load", lambda package: steps)
    with open_store(backup_path(path, len(steps))) as copy:
        assert copy.messages.count() == 50


@pytest.mark.case(36)
@pytest.mark.parametrize("statements", [1, 4, 9, 17])
def test_a_half_migrated_file_is_finished(tmp_path, statements):
    path = tmp_path / "chat.db"
    sql = _migrate.load(PACKAGE)[0].sql
    raw = apsw.Connection(str(path))
    # A statement ends with ";" at the end of a line; this file's comments never do.
    raw.execute(";\n".join(sql.split(";\n")[:statements]))
    raw.close()
    with open_store(path) as store:
        store.messages.append([Message(role="user", content="hello")], scope=SCOPE)
        assert store.schema_version == len(_migrate.load(PACKAGE))
        assert failed_checks(store) == []


@pytest.mark.case(33)
def test_a_file_in_a_folder_that_cannot_be_written_is_read(tmp_path):
    path = tmp_path / "folder" / "chat.db"
    _filled(path)
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        with open_store(path, read_only=True) as store:
            assert store.messages.count() == 50
    finally:
        path.parent.chmod(0o700)


def test_numbers_beyond_sqlites_are_not_found_or_refused():
    store = open_store()
    assert store.messages.get_many([10**30], scope=SCOPE) == []
    with pytest.raises(StoreError, match="too large"):
        store.messages.recent(scope=SCOPE, before=10**30)


def test_the_numbers_of_migrations_have_no_gap(tmp_path, monkeypatch):
    (tmp_path / "gappy" / "migrations").mkdir(parents=True)
    (tmp_path / "gappy" / "__init__.py").touch()
    (tmp_path / "gappy" / "migrations" / "0002_x.sql").write_text("SELECT 1;")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(MigrationError, match="gap"):
        _migrate.load("gappy")


def test_a_closed_store_says_so(tmp_path):
    store = open_store(tmp_path / "chat.db")
    store.close()
    store.close()
    with pytest.raises(StoreUnavailableError, match="closed"):
        store.messages.count()


def _write_and_fail(store, text):
    with store.transaction():
        store.messages.append([Message(role="user", content=text)], scope=SCOPE)
        raise StoreError(text)


def test_an_inner_failure_that_is_caught_undoes_only_the_inner_writes():
    store = open_store()
    with store.transaction():
        store.messages.append([Message(role="user", content="kept")], scope=SCOPE)
        with pytest.raises(StoreError, match="inner"):
            _write_and_fail(store, "inner")
    assert [m.content for m in store.messages.recent(scope=SCOPE)] == ["kept"]
    with pytest.raises(StoreError, match="outer"):
        _write_and_fail(store, "outer")
    assert store.messages.count() == 1
    assert failed_checks(store) == []


def test_a_database_in_memory_is_shared_by_threads():
    store = open_store()
    threads = [
        threading.Thread(
            target=lambda: [
                store.messages.append([Message(role="user", content="x")], scope=SCOPE) for _ in range(20)
            ]
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [m.position for m in store.messages.recent(scope=SCOPE)] == list(range(1, 81))


def test_scrubbed_files_hold_no_deleted_text(tmp_path):
    path = tmp_path / "chat.db"
    with open_store(path) as store:
        secret = store.messages.append([Message(role="user", content="the zebracode is 4711")], scope=SCOPE)
        store.messages.append([Message(role="user", content="something else")], scope=SCOPE)
        store.messages.delete([secret[0].id], scope=SCOPE)
        store.scrub()
        later = store.messages.append([Message(role="user", content="later")], scope=SCOPE)
        assert later[0].id == 3
        for file in tmp_path.iterdir():
            assert b"zebracode" not in file.read_bytes()
            assert b"4711" not in file.read_bytes()


def test_the_clock_of_the_helpers_moves():
    clock = SteppingClock()
    assert clock.now() < clock.now()
