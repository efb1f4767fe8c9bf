"""Every place that can hold a secret, every shape it can have there: after erasing, no file holds it in any of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orca import MemoryManager, Scope, open_memory
from orca.config import Settings
from orca.testing import FakeEmbedder, ScriptedModel
from orca.types import SubAgentMessage, SubAgentRun

pytestmark = pytest.mark.case(19)

ALICE = Scope(user="alice", session="s1")
BOB = Scope(user="bob", session="s1")
SECRETS = {
    "content": "zebrafinchone", "part": "magpiewrentwo", "argument": "ospreykitethree", "metadata": "puffinternfour", "reasoning": "siskincrakefive",
    "title": "nightjarsixly", "task": "dunlinsevenly", "step": "whimbreleight", "result": "godwitninelyx", "summary": "turnstonetenx", "中文": "翡翠螳螂暗号本", "escaped": "琥珀蜈蚣口令集",
}  # fmt: skip
SHARED = "avocetcommonly"


def shapes(secret: str) -> Iterator[bytes]:
    """Yield a text as files may hold it: plain, in UTF-16, and as JSON escapes it."""
    yield secret.encode()
    yield secret.encode("utf-16-le")
    yield secret.encode("utf-16-be")
    if not secret.isascii():
        yield json.dumps(secret).strip('"').encode()
        yield json.dumps(secret).strip('"').upper().replace("\\U", "\\u").encode()


def left_in(folder: Path) -> list[tuple[str, str]]:
    """Return which secrets which files still hold."""
    return [
        (name, file.name)
        for file in folder.rglob("*")
        if file.is_file()
        for name, secret in SECRETS.items()
        if any(shape in file.read_bytes().lower() for shape in {form.lower() for form in shapes(secret)})
    ]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryManager]:
    model = ScriptedModel(
        lambda messages: (
            f"The user told of {SECRETS['summary'] if SECRETS['content'] in str(messages) else 'this'}."
        )
    )
    with open_memory(
        tmp_path / "orca.db", embedder=FakeEmbedder(), chat_model=model, settings=Settings()
    ) as opened:
        yield opened


def tell(memory: MemoryManager, scope: Scope) -> None:
    """Hide every secret in a place of its own."""
    s = SECRETS
    memory.observe(
        scope=scope,
        role="user",
        content=f"My password hint is {s['content']} and {SHARED}, 还有{s['中文']}。",
        metadata={"note": s["metadata"], "deep": [{"er": s["escaped"]}]},
    )
    memory.observe(
        scope=scope,
        role="user",
        content=[{"type": "text", "text": f"look at {s['part']}"}, {"type": "text", "text": s["escaped"]}],
    )
    memory.observe(
        scope=scope,
        role="assistant",
        content="I look.",
        reasoning=f"They hide {s['reasoning']}",
        tool_calls=[
            {
                "id": "c1",
                "type": "function",
                "function": {
                    "name": "look",
                    "arguments": json.dumps({"q": s["argument"], "中": s["escaped"]}),
                },
            }
        ],
    )
    memory.observe(scope=scope, role="tool", content=f"found {s['result']}", tool_call_id="c1", name="look")
    memory.observe(scope=scope, role="assistant", content=f"There is {s['content']}.")
    memory.remember(scope=scope, content=f"The user has the hint {s['content']}")
    memory.rename_session(scope=scope, title=f"About {s['title']}")
    run = memory.start_run(SubAgentRun(agent="finder", task=f"find {s['task']}"), scope=scope)
    assert run.id is not None
    step = SubAgentMessage(run_id=run.id, role="assistant", content=f"I found {s['step']}")
    memory.append_run_messages([step], scope=scope)
    memory.finish_run(replace(run, status="done", summary=f"It is {s['step']}"), scope=scope)
    memory.end_session(scope=scope)  # summarises what waits, and lets the model propose nothing that is JSON
    memory.flush(5)


@pytest.mark.parametrize("what", ["session", "user"])
def test_no_shape_of_a_secret_outlives_its_owner_in_any_file(
    memory: MemoryManager, tmp_path: Path, what: str
) -> None:
    tell(memory, ALICE)
    memory.observe(scope=BOB, role="user", content=f"I keep the word {SHARED} as well")
    memory.observe(scope=BOB, role="assistant", content="Fine.")
    memory.flush(5)
    missing = set(SECRETS) - {name for name, _ in left_in(tmp_path)}
    assert not missing, "each secret has to be somewhere before it goes"
    if what == "user":
        memory.erasure.erase(scope=ALICE, user=True)
    else:
        memory.erasure.erase(scope=ALICE)
        for fact in memory.memories(scope=ALICE, include_inactive=True):
            memory.erasure.erase(scope=ALICE, memory_id=fact.id)
    assert left_in(tmp_path) == []
    assert memory.verify().ok
    assert any(SHARED in hit.content for hit in memory.recall(scope=BOB, query=SHARED).messages)
    assert memory.recall(scope=ALICE, query=SHARED).messages == ()


def test_a_copy_that_the_user_made_is_left_alone_and_said_to_be(
    memory: MemoryManager, tmp_path: Path
) -> None:
    tell(memory, ALICE)
    copy = tmp_path / "mine" / "copy.db"
    copy.parent.mkdir()
    memory.backup(str(copy))
    before = copy.read_bytes()
    report = memory.erase(scope=ALICE)
    assert copy.read_bytes() == before
    assert any("backups" in check.detail and "not looked at" in check.detail for check in report.checks)


@pytest.mark.parametrize("shape", ["utf-16-le", "utf-16-be", "escaped"])
def test_the_proof_knows_a_trace_in_every_shape(memory: MemoryManager, tmp_path: Path, shape: str) -> None:
    memory.observe(scope=ALICE, role="user", content="我把翡翠螳螂暗号本藏在阁楼的旧箱子里面了")
    text = "我把翡翠螳螂暗号本藏在阁楼的旧箱子里面了"
    raw = json.dumps(text).encode() if shape == "escaped" else text.encode(shape)
    hidden = tmp_path / "orca.db-journal"
    hidden.write_bytes(b"x" * 101 + raw)
    report = memory.erase(scope=ALICE)
    assert [check.name for check in report.checks if not check.ok] == ["traces in orca.db-journal"]
    hidden.unlink()


def test_metadata_and_arguments_that_are_stored_as_json_are_looked_for_by_their_strings(
    memory: MemoryManager, tmp_path: Path
) -> None:
    tell(memory, ALICE)
    hidden = tmp_path / "orca.db-journal"
    hidden.write_bytes(b"--" + f"{SECRETS['metadata']}".encode() + b"--")
    report = memory.erase(scope=ALICE)
    assert [check.name for check in report.checks if not check.ok] == ["traces in orca.db-journal"]
    hidden.unlink()
