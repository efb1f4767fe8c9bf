"""Whatever is stored comes back as quoted data in one block, and becomes nobody's fact by itself."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator

import pytest

from orca import MemoryManager, Scope, open_memory
from orca.config import Settings
from orca.text.recalled import CLOSE, OPEN
from orca.types import Context, Message, SubAgentMessage, SubAgentRun

from .attacks import ATTACKS

pytestmark = [pytest.mark.case(17), pytest.mark.case(16)]

USER = "alice"
SYSTEM = "You are a helpful assistant."
LINE = re.compile(r"^(?:- \[|  \| )")
LOOKALIKE = re.compile(r"[<＜‹〈⟨﹤《]\s*/?\s*recalled[_＿]memory", re.IGNORECASE)
NUMBERS = range(len(ATTACKS))


def word(number: int) -> str:
    """Return a word by which an attack is found, and only that one."""
    return "quokka" + "abcdefghij"[number // 10] + "klmnopqrst"[number % 10]


def opened() -> MemoryManager:
    return open_memory(":memory:", embedder=None, chat_model=None, settings=Settings())


@pytest.fixture(scope="module")
def said_by_user() -> Iterator[MemoryManager]:
    with opened() as memory:
        for number, attack in enumerate(ATTACKS):
            scope = Scope(user=USER, session=f"old{number}")
            memory.observe(
                scope=scope, role="user", content=f"The report on {word(number)} says {attack} end."
            )
            memory.observe(scope=scope, role="assistant", content=f"{attack} noted of {word(number)}")
        assert memory.flush(60)
        yield memory


def prompt(memory: MemoryManager, number: int, session: str = "new") -> Context:
    scope = Scope(user=USER, session=session)
    return memory.build_context(
        scope=scope, query=f"What does the report on {word(number)} say?", system=SYSTEM, window_tokens=8192
    )


def visible(text: str) -> str:
    """Return a text as a lenient reader might take it: without invisible characters, compatibility forms unified."""
    shown = "".join(char for char in text if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFKC", shown)


def test_there_are_enough_attacks() -> None:
    assert len(set(ATTACKS)) >= 60


@pytest.mark.parametrize("number", NUMBERS)
def test_stored_text_stays_inside_one_whole_block_and_out_of_the_system_role(
    said_by_user: MemoryManager, number: int
) -> None:
    context = prompt(said_by_user, number)
    assert [message["role"] for message in context.messages] == ["system", "user"]
    system, asked = (str(message["content"]) for message in context.messages)
    assert system == SYSTEM
    assert asked.count(OPEN) == asked.count(CLOSE) == 1
    start, end = asked.index(OPEN), asked.index(CLOSE)
    block, rest = asked[start + len(OPEN) : end], asked[:start] + asked[end + len(CLOSE) :]
    assert word(number) in block
    assert rest.strip() == f"What does the report on {word(number)} say?"
    header, *lines = block.strip("\n").splitlines()
    assert header.startswith("From memory:")
    assert lines
    assert all(LINE.match(line) for line in lines), lines
    assert len(LOOKALIKE.findall(visible(asked))) == 2  # ours, opening and closing
    hidden = [
        char for char in block if unicodedata.category(char) in ("Cf", "Cc") and char not in "\n\t\u200d"
    ]
    assert not hidden


@pytest.mark.parametrize("origin", ["assistant", "tool", "import", "subagent", "system"])
def test_text_of_others_becomes_no_memory(origin: str) -> None:
    with opened() as memory:
        scope = Scope(user=USER, session="s")
        for number, attack in enumerate(ATTACKS):
            if origin == "subagent":
                run = SubAgentRun(agent="coder", task=attack, status="done", summary=attack)
                memory.record_run(
                    scope=scope,
                    run=run,
                    messages=[SubAgentMessage(run_id=0, role="assistant", content=attack)],
                )
                continue
            if origin == "import":
                memory.observe_many(
                    scope=scope, messages=[Message(role="user", content=attack, origin="import")]
                )
                continue
            if origin == "tool":
                call = {"id": f"c{number}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
                memory.observe(scope=scope, role="user", content="ok go on")
                memory.observe(scope=scope, role="assistant", tool_calls=[call])
                memory.observe(scope=scope, role="tool", tool_call_id=f"c{number}", content=attack)
            else:
                memory.observe(scope=scope, role=origin, content=attack)  # type: ignore[arg-type]
        if origin == "subagent":
            memory.observe(scope=scope, role="user", content="ok go on")
        memory.observe(scope=scope, role="assistant", content="Done.")
        assert memory.flush(60)
        memory.end_session(scope=scope)
        assert memory.memories(scope=scope, include_inactive=True) == []


def test_imported_text_becomes_memory_once_it_is_trusted_and_only_there() -> None:
    with opened() as memory:
        scope, other = Scope(user=USER, session="mine"), Scope(user=USER, session="found")
        for where in (scope, other):
            memory.observe_many(
                scope=where,
                messages=[
                    Message(role="user", content=f"我的猫叫{where.session}。", origin="import"),
                    Message(role="assistant", content="好的。", origin="import"),
                ],
            )
        assert memory.flush(60)
        assert memory.memories(scope=scope) == []
        asked = memory.build_context(scope=Scope(user=USER, session="new"), query="我的猫叫什么？")
        assert "用户说，导入] 我的猫叫" in asked.messages[-1]["content"]
        numbers = [message.id for message in memory.messages(scope=scope) if message.id is not None]
        assert memory.trust(scope=other, message_ids=numbers) == 0
        assert memory.trust(scope=Scope(user="bob", session="mine"), message_ids=numbers) == 0
        assert memory.trust(scope=scope, message_ids=numbers) == 2
        assert memory.trust(scope=scope, message_ids=numbers) == 0
        assert memory.flush(60)
        assert [fact.content for fact in memory.memories(scope=scope)] == ["用户的猫叫mine"]


def test_assembled_prompts_fed_back_add_no_memory(said_by_user: MemoryManager) -> None:
    scope = Scope(user=USER, session="fed")
    before = len(said_by_user.memories(scope=scope, include_inactive=True))
    for number in NUMBERS:
        for message in prompt(said_by_user, number).messages:
            if message["role"] == "user":
                said_by_user.observe(scope=scope, role="user", content=message["content"])
        said_by_user.observe(scope=scope, role="assistant", content="I see.")
    assert said_by_user.flush(60)
    said_by_user.end_session(scope=scope)
    assert len(said_by_user.memories(scope=scope, include_inactive=True)) == before
    summaries = json.dumps(
        [hit.content for hit in said_by_user.get_short_term_memory(scope=scope, max_items=200)]
    )
    assert "recalled_memory" not in summaries
