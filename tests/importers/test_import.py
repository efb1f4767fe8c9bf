"""Each line is stored once, whatever is imported again, and no bad line stops another."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

import pytest

from orca.errors import ConfigError, NotFoundError, StoreUnavailableError
from orca.health import ImportReport
from orca.importers import import_files, migrate_directory
from orca.stores.jsonl import JSONLStore
from orca.stores.sqlite.store import SQLiteStore
from orca.testing import FixedClock
from orca.types import Message, Scope

from .conftest import Target, line, write


def run(memory: Target, *paths: Path, **scope: str) -> ImportReport:
    return import_files(paths, memory=memory, scope=Scope(**scope))


def reasons(report: ImportReport) -> list[tuple[str, object]]:
    return [(Path(error["file"]).name, error["line"]) for error in report.errors]


@pytest.mark.case(18)
def test_importing_again_adds_only_what_is_new(memory: Target, tmp_path: Path) -> None:
    log = write(tmp_path / "chat.jsonl", line("a"), line("b", "assistant"), line("a"), line("a"))
    first = run(memory, log)
    assert (first.imported, first.skipped, first.sessions, first.errors) == (4, 0, 1, ())
    for _ in range(2):
        again = run(memory, log)
        assert (again.imported, again.skipped, again.sessions) == (0, 4, 1)
    with log.open("a") as file:
        file.write(line("a") + line("new"))
    assert run(memory, log).imported == 2
    assert memory.texts("chat") == ["a", "b", "a", "a", "a", "new"]
    assert memory.sessions() == ["chat"]


@pytest.mark.case(18)
def test_a_copy_under_another_name_or_path_is_the_same_log(memory: Target, tmp_path: Path) -> None:
    lines = [line("about plums"), line("about pears", "assistant"), line("about plums")]
    run(memory, write(tmp_path / "a.jsonl", *lines))
    assert run(memory, write(tmp_path / "deep" / "a.jsonl", *lines)).imported == 0
    assert run(memory, write(tmp_path / "b.jsonl", *lines, line("and more"))).imported == 1
    assert memory.sessions() == ["a"]
    assert len(memory.texts("a")) == 4


@pytest.mark.case(18)
def test_other_logs_keep_their_own_sessions(memory: Target, tmp_path: Path) -> None:
    run(memory, write(tmp_path / "a" / "chat.jsonl", line("你好"), line("about plums")))
    run(memory, write(tmp_path / "b" / "chat.jsonl", line("it rains"), line("in Paris")))
    run(memory, write(tmp_path / "c" / "log.jsonl", line("你好"), line("something else")))
    assert memory.sessions() == ["chat", "chat-2", "log"]
    assert run(memory, tmp_path).imported == 0
    assert memory.texts("chat-2") == ["it rains", "in Paris"]


@pytest.mark.case(18)
def test_the_session_is_the_lines_then_the_given_one(memory: Target, tmp_path: Path) -> None:
    log = write(tmp_path / "x.jsonl", line("a", session="s"), line("b"), line("c", session_id=7))
    run(memory, log, session="given", user="u")
    assert memory.sessions("u") == ["7", "given", "s"]
    assert memory.sessions() == []


@pytest.mark.case(18)
def test_one_bad_line_of_three_thousand(memory: Target, tmp_path: Path) -> None:
    logs = []
    for name in "abc":
        lines = [line(f"{name} {number}") for number in range(1000)]
        if name == "b":
            lines[499] = '{"role": "user", "content": \n'
        logs.append(write(tmp_path / f"{name}.jsonl", *lines))
    report = run(memory, *logs)
    assert report.imported == memory.store.messages.count() == 2999
    assert reasons(report) == [("b.jsonl", 500)]
    assert memory.transactions == 6


@pytest.mark.case(18)
def test_a_torn_last_line_is_reported_and_picked_up_when_completed(memory: Target, tmp_path: Path) -> None:
    whole = line("the end 完").encode()
    log = write(tmp_path / "a.jsonl", line("start"), whole[:-6])
    report = run(memory, log)
    assert (report.imported, reasons(report)) == (1, [("a.jsonl", 2)])
    assert "incomplete" in report.errors[0]["reason"]
    with log.open("ab") as file:
        file.write(whole[-6:-1])  # completed, still without its line end
    report = run(memory, log)
    assert (report.imported, report.errors) == (1, ())
    assert memory.texts("a") == ["start", "the end 完"]


@pytest.mark.case(18)
@pytest.mark.parametrize(
    ("bad", "word"),
    [
        ("null", "null"),
        ("12", "number"),
        ('"text"', "text"),
        ("[1]", "list"),
        ("true", "true"),
        ("{", "JSON"),
        ("[" * 100_000, "nested"),
        ('{"role":"user","content":' + "[" * 300 + "]" * 300 + "}", "nested"),
        ('{"role":"user","content":' + "9" * 5000 + "}", "JSON"),
        (b'{"role":"user","content":"\xff\xfe"}', "UTF-8"),
        (b"\x00" * 64, "NUL"),
        ("{}", "role"),
        ('{"role":null,"content":"x"}', "role"),
        ('{"role":"wizard","content":"x"}', "wizard"),
        ('{"role":["user"],"content":"x"}', "role"),
        ('{"role":"user","content":5}', "content"),
        ('{"role":"user","content":{"a":1}}', "content"),
        ('{"role":"user","content":"  "}', "empty"),
        ('{"role":"user"}', "empty"),
        ('{"role":"user","content":"x","timestamp":"yesterday"}', "timestamp"),
        ('{"role":"user","content":"x","timestamp":1e300}', "timestamp"),
        ('{"role":"user","content":"x","timestamp":true}', "timestamp"),
        ('{"role":"user","content":"x","tool_calls":"x"}', "tool_calls"),
        ('{"role":"user","content":"x","metadata":[]}', "metadata"),
        ('{"role":"user","content":"x","session":{}}', "session"),
    ],
)
def test_a_bad_line_is_named_and_stops_no_other(
    memory: Target, tmp_path: Path, bad: str | bytes, word: str
) -> None:
    report = run(memory, write(tmp_path / "a.jsonl", line("before"), bad, "\n", line("after")))
    assert reasons(report) == [("a.jsonl", 2)]
    assert word in report.errors[0]["reason"]
    assert memory.texts("a") == ["before", "after"]


@pytest.mark.case(18)
@pytest.mark.parametrize(
    "encode",
    [
        lambda text: text.encode(),
        lambda text: text.encode("utf-8-sig"),
        lambda text: text.encode("utf-16"),
        lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
        lambda text: text.encode("utf-16-le"),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: ("\n\n" + text.replace("\n", "\n \n")).encode(),
        lambda text: text.rstrip("\n").encode(),
        lambda text: b"\x00" * 9 + text.encode(),
    ],
    ids=[
        "utf-8",
        "bom",
        "utf-16",
        "utf-16-be",
        "utf-16-without-bom",
        "crlf",
        "blank-lines",
        "no-end",
        "nul-before",
    ],
)
def test_encodings_and_line_ends(memory: Target, tmp_path: Path, encode: object) -> None:
    said = ["你好\u2028next\x85line", "emoji 😀", "nul \x00", "tab\tinside"]
    text = "".join(line(content) for content in said)
    report = run(memory, write(tmp_path / "a.jsonl", encode(text)))
    assert report.errors == ()
    assert memory.texts("a") == said


@pytest.mark.case(8)
@pytest.mark.case(18)
def test_odd_but_usable_lines(memory: Target, tmp_path: Path) -> None:
    report = run(
        memory,
        write(
            tmp_path / "a.jsonl",
            '{"role":"system","role":"user","content":"the last of a repeated key counts"}\n',
            '{"role":"user","content":"half \\ud83d"}\n',
            '{"role":"user","content":"raw\ttab and \x00"}\n',
            '{"role":"assistant","content":"","metadata":{"nan":NaN}}\n',
            line("x" * 3_000_000),
        ),
    )
    assert (report.imported, report.errors) == (5, ())
    found = memory.messages(scope=Scope(session="a"), limit=None)
    assert [message.role for message in found] == ["user", "user", "user", "assistant", "user"]
    assert found[1].content == "half \ufffd"
    assert len(found[4].content) == 3_000_000


@pytest.mark.case(30)
@pytest.mark.parametrize(
    "written",
    [
        "2026-05-10T08:30:00+08:00", "2026-05-10T00:30:00Z", "2026-05-10 00:30:00", "2026-05-09T19:30:00-05:00",
        1778373000, 1778373000.0, "1778373000", 1778373000000, 1778373000000000, 1778373000000000000,
    ],
)  # fmt: skip
def test_times_of_every_kind_are_the_same_instant(memory: Target, tmp_path: Path, written: object) -> None:
    run(memory, write(tmp_path / "a.jsonl", line(timestamp=written)))
    found = memory.messages(scope=Scope(session="a"))[0]
    assert found.timestamp == datetime(2026, 5, 10, 0, 30, tzinfo=UTC)


def test_names_of_roles(memory: Target, tmp_path: Path) -> None:
    names = ["user", "Human", "assistant", "AI", "system", "developer", "tool", "function"]
    run(memory, write(tmp_path / "a.jsonl", *[line(name, name) for name in names]))
    roles = [message.role for message in memory.messages(scope=Scope(session="a"))]
    assert roles == ["user", "user", "assistant", "assistant", "system", "system", "tool", "tool"]


@pytest.mark.case(14)
def test_tool_calls_and_parts_are_kept(memory: Target, tmp_path: Path) -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    parts = [{"type": "text", "text": "看"}, {"type": "image_url", "image_url": {"url": "x"}}]
    run(
        memory,
        write(
            tmp_path / "a.jsonl",
            line(parts, name="林晓", metadata={"k": [1]}),
            line(None, "assistant", tool_calls=calls),
            line("result", "tool", tool_call_id="c"),
        ),
    )
    asked, called, result = memory.messages(scope=Scope(session="a"))
    assert (asked.content, asked.name, asked.metadata) == (parts, "林晓", {"k": [1]})
    assert (called.content, called.tool_calls, result.tool_call_id) == (None, calls, "c")


@pytest.mark.case(18)
def test_an_interrupted_import_goes_on(
    memory: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = write(tmp_path / "a.jsonl", *[line(f"{n % 7}") for n in range(1800)])
    whole = Target.observe_many

    def failing(self: Target, **arguments: object) -> list[Message]:
        if self.transactions == 2:
            raise StoreUnavailableError
        return whole(self, **arguments)

    monkeypatch.setattr(Target, "observe_many", failing)
    with pytest.raises(StoreUnavailableError):
        run(memory, log)
    assert memory.store.messages.count() == 1000
    monkeypatch.undo()
    report = run(memory, log)
    assert (report.imported, report.skipped) == (800, 1000)
    assert memory.texts("a") == [f"{n % 7}" for n in range(1800)]


def test_progress_is_told_in_bytes(memory: Target, tmp_path: Path) -> None:
    logs = [write(tmp_path / f"{name}.jsonl", *[line(f"{name}{n}") for n in range(1200)]) for name in "ab"]
    told: list[tuple[int, int]] = []
    import_files(logs, memory=memory, scope=Scope(), progress=lambda done, total: told.append((done, total)))
    total = sum(log.stat().st_size for log in logs)
    assert told == sorted(told)
    assert told[-1] == (total, total)
    assert len(told) > 6


def test_what_cannot_be_read_is_reported(memory: Target, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    report = run(memory, tmp_path / "missing.jsonl", tmp_path / "empty", write(tmp_path / "a.jsonl", line()))
    assert report.imported == 1
    assert reasons(report) == [("empty", None), ("missing.jsonl", None)]
    with pytest.raises(ConfigError, match="plain"):
        import_files([tmp_path], memory=memory, scope=Scope(), format="nonsense")
    assert import_files([tmp_path / "a.jsonl"], memory=memory, scope=Scope(), format="plain").skipped == 1


@pytest.mark.case(18)
@pytest.mark.case(35)
def test_sub_agents_transcripts_become_runs_of_their_session(memory: Target, tmp_path: Path) -> None:
    calls = [{"id": "call_9", "type": "function", "function": {"name": "agent_call", "arguments": "{}"}}]
    write(tmp_path / "p" / "main.jsonl", line("do it"), line(None, "assistant", tool_calls=calls))
    steps = [line("the task", metadata={"parent_tool_call_id": "call_9"}), line("plum work", "assistant")]
    trace = write(tmp_path / "p" / "subagents" / "coder.jsonl", *steps)
    report = run(memory, tmp_path / "p")
    assert (report.imported, report.sessions, report.errors) == (4, 1, ())
    assert memory.sessions() == ["main"]
    assert len(memory.texts("main")) == 2
    (found,) = memory.subagent_runs(scope=Scope(session="main"))
    parent = memory.messages(scope=Scope(session="main"))[1]
    assert (found.agent, found.task, found.status, found.summary) == (
        "coder",
        "the task",
        "done",
        "plum work",
    )
    assert found.parent_message_id == parent.id
    assert run(memory, tmp_path / "p").imported == 0
    with trace.open("a") as file:
        file.write(line("more", "assistant"))
    assert run(memory, trace).imported == 1
    (again,) = memory.subagent_runs(scope=Scope(session="main"))
    assert (again.id, again.summary) == (found.id, "more")
    assert [step.content for step in memory.subagent_messages(run_id=again.id)] == [
        "the task",
        "plum work",
        "more",
    ]


@pytest.mark.case(35)
def test_a_transcript_without_its_session_is_never_a_conversation(memory: Target, tmp_path: Path) -> None:
    trace = write(tmp_path / "subagents" / "x.jsonl", line("task"))
    report = run(memory, trace)
    assert (report.imported, len(report.errors)) == (0, 1)
    assert "session" in report.errors[0]["reason"]
    assert run(memory, trace, session="given").imported == 1
    assert memory.store.messages.count() == 0
    assert len(memory.subagent_runs(scope=Scope(session="given"))) == 1


def test_the_sample_that_ships(memory: Target) -> None:
    with resources.as_file(resources.files("orca.samples")) as samples:
        report = run(memory, samples)
        again = run(memory, samples)
    assert report.errors == again.errors == ()
    assert again.imported == 0
    assert memory.store.counts()["messages"] > 20
    (found,) = memory.subagent_runs(scope=Scope(session="importer"))
    assert found.parent_message_id is not None


@pytest.mark.case(33)
def test_an_export_is_recognised(memory: Target, tmp_path: Path, clock: FixedClock) -> None:
    source = SQLiteStore(":memory:", clock=clock)
    source.messages.append([Message(role="user", content="from there")], scope=Scope(session="s"))
    rows = [json.dumps({"table": table, "row": row}) + "\n" for table, row in source.export_rows()]
    source.close()
    export = write(tmp_path / "orca.jsonl", '{"orca_export": 1}\n', *rows, "broken\n")
    report = run(memory, export)
    assert (report.imported, reasons(report)) == (len(rows), [("orca.jsonl", len(rows) + 2)])
    assert memory.texts("s") == ["from there"]
    assert run(memory, export).skipped == len(rows)
    newer = write(tmp_path / "newer.jsonl", '{"orca_export": 99}\n', *rows)
    assert "upgrade" in run(memory, newer).errors[0]["reason"]


@pytest.mark.case(18)
def test_migration_keeps_names_owners_and_files(memory: Target, tmp_path: Path, clock: FixedClock) -> None:
    log = JSONLStore(tmp_path / "logs", clock=clock)
    log.append([Message(role="user", content="own", dedupe_key="k")], scope=Scope(user="u", session="../x"))
    log.append([Message(role="user", content="agent's")], scope=Scope(session="s", agent="coder"))
    write(tmp_path / "logs" / "old chat.jsonl", line("old"), line("named", session="other"), "broken\n")
    before = {path: path.read_bytes() for path in (tmp_path / "logs").glob("*.jsonl")}
    first = migrate_directory(tmp_path / "logs", memory=memory)
    again = migrate_directory(tmp_path / "logs", memory=memory)
    assert (first.imported, first.sessions, len(first.errors)) == (4, 4, 1)
    assert (again.imported, again.skipped) == (0, 4)
    assert memory.texts("../x", user="u") == ["own"]
    assert memory.texts("s", agent="coder") == ["agent's"]
    assert (memory.texts("old chat"), memory.texts("other")) == (["old"], ["named"])
    assert {path: path.read_bytes() for path in before} == before
    with pytest.raises(NotFoundError):
        migrate_directory(tmp_path / "nowhere", memory=memory)


@pytest.mark.case(17)
def test_nobody_vouches_for_an_imported_line_until_it_is_trusted(memory: Target, tmp_path: Path) -> None:
    log = write(tmp_path / "chat.jsonl", line("a"), line("b", "assistant"))
    run(memory, log)
    scope = Scope(session="chat")
    assert [message.origin for message in memory.messages(scope=scope)] == ["import", "import"]
    later = write(tmp_path / "chat.jsonl", line("a"), line("b", "assistant"), line("c"))
    again = import_files([later], memory=memory, scope=Scope(), trusted=True)
    assert (again.imported, again.skipped) == (1, 2)
    assert [message.origin for message in memory.messages(scope=scope)] == ["user", "assistant", "user"]


def test_a_migration_moves_sessions_as_trusted_as_they_were(memory: Target, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    write(tmp_path / "logs" / "chat.jsonl", line("a"), line("b", "assistant"))
    migrate_directory(tmp_path / "logs", memory=memory)
    assert [message.origin for message in memory.messages(scope=Scope(session="chat"))] == [
        "user",
        "assistant",
    ]
