"""Whether memory says what is true at the time, over scripted lives in Chinese and English.

    python -m benchmarks.truth [--held-out] [--show]

A story is what a user says on some dates, and what should be known on others. After each statement the session is
consolidated. At each question the memories valid at that time are read, as ``memories(as_of=…)`` gives them:

* right: one of them holds every piece of the current value;
* stale: one of them holds a piece of a value that is not true then, and is no denial of it that the story expects;
* lost: the value is missing although its statement, told alone to an empty memory, becomes one;
* unread: the value is missing because nothing finds the statement when it is told alone either;
* merged: of two facts that must stand beside each other, one is gone although each alone becomes a memory.

Three ways: by rule; with a model that proposes every statement as a new memory ("eager"); with one that proposes
every statement as an update of the first memory it is shown ("careless"), which the rules have to hold back.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

from orca import MemoryManager, Scope, open_memory
from orca.config import Settings
from orca.testing import FixedClock, ScriptedModel

STORIES = Path(__file__).parent / "data" / "truth" / "stories.jsonl"
HELD_OUT = STORIES.with_name("held-out.jsonl")
"""Stories that were committed before they were measured; their first run is in ``docs/explanation/memories.md``."""
_LINE = re.compile(r"^\[(\d+)\] user: (.*)$", re.MULTILINE)
_OFFERED = re.compile(r"^\[?(\d+)[\].:]", re.MULTILINE)

Model = Callable[[], ScriptedModel | None]


@dataclass(slots=True)
class Tally:
    """Counts over questions, and what went wrong, in words."""

    questions: int = 0
    right: int = 0
    stale: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)

    def row(self, name: str) -> str:
        """Return the figures as a line of a table."""
        share = self.right / max(1, self.questions)
        stale = len(self.stale) / max(1, self.questions)
        return (
            f"| {name} | {self.questions} | {share:.2f} | {stale:.3f} | {len(self.merged)} | {len(self.lost)}"
            f" | {len(self.unread)} |"
        )


def _time(day: str) -> datetime:
    return datetime.fromisoformat(day).replace(hour=12, tzinfo=UTC)


def tell(lines: Sequence[tuple[str, str]], model: ScriptedModel | None) -> MemoryManager:
    """Return a memory that heard the lines, each in a session of its own at its date."""
    clock = FixedClock(_time(lines[0][0]))
    memory = open_memory(":memory:", embedder=None, chat_model=model, clock=clock, settings=Settings())
    for number, (day, text) in enumerate(lines):
        clock.advance((_time(day) - clock.now()).total_seconds())
        scope = Scope(user="alice", session=f"s{number}")
        memory.observe(scope=scope, role="user", content=text, timestamp=_time(day))
        memory.observe(
            scope=scope, role="assistant", content="好的。" if text[0] > "z" else "OK.", timestamp=_time(day)
        )
        memory.flush(30)
        memory.end_session(scope=scope)
    return memory


def known(memory: MemoryManager, day: str) -> list[str]:
    """Return what was true at a day, as the memory has it."""
    return [fact.content for fact in memory.memories(scope=Scope(user="alice"), as_of=_time(day))]


def _holds(facts: Sequence[str], pieces: Sequence[str]) -> bool:
    return any(all(piece.lower() in fact.lower() for piece in pieces) for fact in facts)


def _readable(story: Mapping[str, Any], pieces: Sequence[str], model: Model) -> bool:
    """Whether a statement of the story, told alone, becomes a memory with these pieces."""
    for day, text in story["say"]:
        with tell([(day, text)], model()) as alone:
            if _holds([fact.content for fact in alone.memories(scope=Scope(user="alice"))], pieces):
                return True
    return False


def _is_stale(fact: str, stale: Sequence[str], current: Sequence[str]) -> bool:
    held = all(piece.lower() in fact.lower() for piece in current)
    return not held and any(piece.lower() in fact.lower() for piece in stale)


def measure(stories: Sequence[Mapping[str, Any]], model: Model) -> Tally:
    """Tell every story and ask its questions."""
    tally = Tally()
    for story in stories:
        lines = [(day, text) for day, text in story["say"]]
        lines = [lines[place] for place in story.get("order", range(len(lines)))]
        with tell(lines, model()) as memory:
            for day, current, stale in story["ask"]:
                _ask(tally, story, known(memory, day), (day, current, stale), model)
            facts = [fact.content for fact in memory.memories(scope=Scope(user="alice"))]
            for pair in story.get("apart", ()):
                gone = [piece for piece in pair if not _holds(facts, [piece])]
                if gone and all(_readable(story, [piece], model) for piece in pair):
                    tally.merged.append(f"{story['id']}: {gone} of {facts}")
    return tally


def _ask(
    tally: Tally,
    story: Mapping[str, Any],
    facts: Sequence[str],
    question: tuple[str, Sequence[str], Sequence[str]],
    model: Model,
) -> None:
    day, current, stale = question
    tally.questions += 1
    where = f"{story['id']} {day}: {current} in {facts}"
    if _holds(facts, current):
        tally.right += 1
    elif _readable(story, current, model):
        tally.lost.append(where)
    else:
        tally.unread.append(where)
    if any(_is_stale(fact, stale, current) for fact in facts):
        tally.stale.append(f"{story['id']} {day}: {stale} in {facts}")


def _proposals(messages: Sequence[Mapping[str, Any]], *, careless: bool) -> str:
    """Propose every line of the user as a memory; summaries are asked for without a numbered transcript."""
    text = str(messages[-1]["content"])
    said = _LINE.findall(text)
    if not said:
        return "…"
    known_part = text[: text.index(f"[{said[0][0]}] user:")]
    offered = _OFFERED.findall(known_part) if careless else []
    return json.dumps(
        {
            "memories": [
                {
                    "action": "update" if offered else "add",
                    "id": int(offered[0]) if offered else None,
                    "content": _told(unescape(line)),
                    "kind": "fact",
                    "speaker": "user",
                    "message_ids": [int(number)],
                }
                for number, line in said
            ]
        },
        ensure_ascii=False,
    )


def _told(line: str) -> str:
    """Return a statement as a model tells it, in the third person."""
    return re.sub(
        r"^I(?:'m)?\b", lambda found: "The user is" if "'" in found.group() else "The user", line
    ).replace("我", "用户")


WAYS: dict[str, Model] = {
    "by rule": lambda: None,
    "eager model": lambda: ScriptedModel(lambda messages: _proposals(messages, careless=False)),
    "careless model": lambda: ScriptedModel(lambda messages: _proposals(messages, careless=True)),
}


def read_stories(path: Path = STORIES) -> list[dict[str, Any]]:
    """Return the stories of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description="Whether memory says what is true at the time.")
    parser.add_argument(
        "--held-out", action="store_true", help="tell the stories that no rule was written for"
    )
    parser.add_argument("--show", action="store_true", help="show what went wrong")
    options = parser.parse_args(argv)
    stories = read_stories(HELD_OUT if options.held_out else STORIES)
    print(f"{len(stories)} stories\n\n| way | questions | right | stale | merged | lost | unread |")
    print("|---|---|---|---|---|---|---|")
    for name, model in WAYS.items():
        tally = measure(stories, model)
        print(tally.row(name))
        if options.show:
            for kind in ("stale", "merged", "lost", "unread"):
                for line in getattr(tally, kind):
                    print(f"  {kind}: {line}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
