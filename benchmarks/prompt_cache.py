"""How much of a prompt a provider's cache can serve, and whether memory is as good, against a sliding window.

    python -m benchmarks.prompt_cache [--locomo PATH] [--json OUT]

*Cache.* The bilingual set is replayed as sessions of 200 turns through a memory as a user opens it, with a model of
8K: recall, summaries and facts are the real ones, and are made before the next turn begins. For each turn, the first
request's messages as JSON are compared with those of the last request of the turn before. The bytes up to the first
difference could have come from a cache. Reported is their share of all bytes of the steady state, and of each
prompt by mean and median. The steady state begins when the whole session does not fit any more. What every request
repeats without being a message (tool schemas) is left out; it would raise every share.

*Quality.* Each person's messages are one session. Every question is asked twice: a while after its evidence was
said, when a window may or may not hold it, and at the end. Reported is how much of the evidence the prompt shows,
word for word, in its window or recalled.

Both windows are given the same recall, so that nothing else differs.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean, median
from typing import Any

from benchmarks.datasets import Conversation, Question, in_one_user, read_bilingual, read_locomo
from orca.embedders.local import LocalEmbedder
from orca.memory.context import ContextBuilder
from orca.memory.manager import MemoryManager
from orca.memory.retrieval_constants import RELEVANCE_FLOOR
from orca.memory.working import KEEP_SHARE
from orca.tokens import default_counter
from orca.types import Context, Message, Scope, TokenBudget
from orca.wiring import open_memory

TURNS = 200
BUDGET = TokenBudget(window_tokens=8192)
SYSTEM = "You are a helpful assistant with a memory of earlier conversations. " * 3
WINDOWS = {"in steps": KEEP_SHARE, "sliding": 1.0}
TOOL_SHARE = 0.3
"""Turns in which a tool is called, where tools are."""
LATER = 60
"""Messages between evidence and the first time it is asked for: about as many as a full window holds or dropped."""
SEED = 7


@dataclass(slots=True)
class Reuse:
    """Sizes of the first request of each steady turn, and of what a cache could serve of it, in bytes."""

    sizes: list[int] = field(default_factory=list)
    served: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        """Return the shares, and how full the budget was."""
        shares = [served / size for served, size in zip(self.served, self.sizes, strict=True)]
        return {
            "turns": len(shares),
            "bytes": round(sum(self.served) / sum(self.sizes), 4),
            "mean": round(mean(shares), 4),
            "median": round(median(shares), 4),
            "windows_moved": sum(share < 0.5 for share in shares),
            "budget_used": round(mean(self.tokens) / BUDGET.total, 4),
        }


class Both:
    """A memory whose prompts are built with each window from one recall."""

    def __init__(self, *, keyword_only: bool = False) -> None:
        embedder = None if keyword_only else LocalEmbedder()
        self.memory: MemoryManager = open_memory(":memory:", embedder=embedder, chat_model=None)
        counter = default_counter()
        self._builders = {
            name: ContextBuilder(counter, relevance_floor=RELEVANCE_FLOOR, keep_share=keep)
            for name, keep in WINDOWS.items()
        }

    def prompts(self, scope: Scope, query: str) -> dict[str, Context]:
        """Return the prompt for a query with each window."""
        recall = self.memory._recaller.for_prompt(scope=scope, query=query, token_budget=BUDGET.total)
        return {
            name: builder.build(
                system=SYSTEM,
                working=recall.working,
                short_term=recall.short_term,
                long_term=recall.long_term,
                messages=recall.messages,
                corrections=recall.corrections,
                query=query,
                budget=BUDGET,
            )
            for name, builder in self._builders.items()
        }

    def add(self, messages: Sequence[Message], scope: Scope) -> list[Message]:
        """Store messages."""
        return self.memory.observe_many(scope=scope, messages=messages)

    def settle(self) -> None:
        """Wait for vectors, summaries and facts."""
        if not self.memory.flush(timeout=600):
            raise RuntimeError("background work did not finish within ten minutes")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both parts, print their tables, and write the figures if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prompt_cache", description=__doc__)
    parser.add_argument("--locomo", type=Path, metavar="PATH", help="measure quality on this file as well")
    parser.add_argument("--sessions", type=int, default=3, help="sessions of 200 turns to replay")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures here as JSON")
    options = parser.parse_args(arguments)

    bilingual = read_bilingual()
    document: dict[str, Any] = {"cache": {}, "quality": {}}
    print(f"{'':24}{'bytes':>8}{'mean':>8}{'median':>8}{'moved':>8}{'used':>8}")
    for kind, tools in (("plain", False), ("tools", True)):
        figures = cache(bilingual, sessions=options.sessions, tools=tools)
        document["cache"][kind] = figures
        for window, row in figures.items():
            print(
                f"{kind + ', ' + window:24}{row['bytes']:8.3f}{row['mean']:8.3f}{row['median']:8.3f}"
                f"{row['windows_moved']:8}{row['budget_used']:8.2f}"
            )
    sets = {"bilingual": bilingual}
    if options.locomo:
        sets["locomo"] = read_locomo(options.locomo)
    for name, conversations in sets.items():
        document["quality"][name] = quality(conversations)
        print(f"\n{name}: share of the evidence in the prompt")
        for when, row in document["quality"][name].items():
            print(f"  {when:10}{row['questions']:6}  " + "  ".join(f"{w} {row[w]:.3f}" for w in WINDOWS))
    if options.json:
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0


def cache(
    conversations: Sequence[Conversation], *, sessions: int, tools: bool
) -> dict[str, dict[str, float]]:
    """Return what a cache could serve with each window, over sessions of 200 turns of one user's memory."""
    turns = list(_turns(conversations))
    reuse = {name: Reuse() for name in WINDOWS}
    both = Both()
    with both.memory:
        for number in range(sessions):
            session = turns[number * TURNS : (number + 1) * TURNS]
            replay(both, session, Scope(user="everybody", session=f"s{number}"), reuse, tools=tools)
    return {name: one.figures() for name, one in reuse.items()}


def replay(
    both: Both, turns: Sequence[Sequence[Message]], scope: Scope, reuse: Mapping[str, Reuse], *, tools: bool
) -> None:
    """Hold one session, and add its steady turns to ``reuse``."""
    rng = random.Random(SEED)
    before: dict[str, bytes] = {}
    said: list[str] = []
    for user, *replies in turns:
        both.add([user], scope)
        query = str(user.content)
        prompts = both.prompts(scope, query)
        steady = any(
            item.tier == "working" and not item.included and item.reason for item in prompts["sliding"].items
        )
        for name, context in prompts.items():
            sent = as_bytes(context)
            if steady and name in before:
                reuse[name].sizes.append(len(sent))
                reuse[name].served.append(same_beginning(before[name], sent))
                reuse[name].tokens.append(context.tokens)
            before[name] = sent
        said.append(query)
        if tools and rng.random() < TOOL_SHARE:
            both.add(_tool_step(len(said), rng.choices(said, k=8)), scope)
            before = {name: as_bytes(context) for name, context in both.prompts(scope, query).items()}
        both.add(replies, scope)
        both.settle()


def quality(conversations: Sequence[Conversation]) -> dict[str, dict[str, float]]:
    """Return the share of the evidence that prompts show, by when the question is asked."""
    found: dict[str, dict[str, list[float]]] = {
        when: {name: [] for name in WINDOWS} for when in ("a while later", "at the end")
    }
    for conversation in conversations:
        both = Both()
        with both.memory:
            _ask_all(both, conversation, found)
    return {
        when: {
            "questions": len(rows["sliding"]),
            **{name: round(mean(shares), 4) for name, shares in rows.items()},
        }
        for when, rows in found.items()
    }


def _ask_all(both: Both, conversation: Conversation, found: Mapping[str, Mapping[str, list[float]]]) -> None:
    scope = Scope(user=conversation.user, session="all")
    messages = [replace(message, session="") for part in conversation.sessions.values() for message in part]
    place = {message.metadata["id"]: number for number, message in enumerate(messages)}
    due: dict[int, list[Question]] = {}
    for question in conversation.questions:
        moment = max(place[name] for name in question.evidence) + LATER
        due.setdefault(moment, []).append(question)
    ids: dict[str, int] = {}

    def ask(question: Question, when: str) -> None:
        wanted = {ids[name] for name in question.evidence}
        for name, context in both.prompts(scope, question.text).items():
            found[when][name].append(len(wanted & shown(context)) / len(wanted))

    for number, message in enumerate(messages):
        (stored,) = both.add([message], scope)
        ids[message.metadata["id"]] = stored.id or 0
        if number in due:
            both.settle()
            for question in due[number]:
                ask(question, "a while later")
    both.settle()
    for question in conversation.questions:
        ask(question, "at the end")


def shown(context: Context) -> set[int]:
    """Return the ids of the messages that a prompt holds."""
    return {
        item.id
        for item in context.items
        if item.included and item.tier in ("working", "messages") and item.id
    }


def as_bytes(context: Context) -> bytes:
    """Return a request's messages as they are sent."""
    return json.dumps(context.messages, ensure_ascii=False).encode()


def same_beginning(before: bytes, after: bytes) -> int:
    """Return how many bytes at the beginning of ``after`` are those of ``before``."""
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if before[:middle] == after[:middle] else (low, middle - 1)
    return low


def _turns(conversations: Sequence[Conversation]) -> Iterator[list[Message]]:
    """Yield turns, each a user's message and the replies to it."""
    (everybody,) = in_one_user(conversations)
    turn: list[Message] = []
    for messages in everybody.sessions.values():
        for message in messages:
            if message.role == "user":
                if len(turn) > 1:
                    yield turn
                turn = []
            if message.role == "user" or turn:
                turn.append(message)
    if len(turn) > 1:
        yield turn


def _tool_step(number: int, lines: Sequence[str]) -> list[Message]:
    """Return a call and its result, about as long as those of the memory tools."""
    call = {
        "id": f"call_{number}",
        "type": "function",
        "function": {
            "name": "memory_search",
            "arguments": json.dumps({"query": lines[0]}, ensure_ascii=False),
        },
    }
    result = "\n".join(f"{place}. [message · user said] {line}" for place, line in enumerate(lines, 1))
    return [
        Message(role="assistant", tool_calls=[call]),
        Message(role="tool", content=result, tool_call_id=f"call_{number}"),
    ]


if __name__ == "__main__":
    raise SystemExit(main())
