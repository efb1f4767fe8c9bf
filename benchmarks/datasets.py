"""The sets that retrieval is measured on, as conversations of messages with questions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from orca.text.language import cjk_share
from orca.types import Message

BILINGUAL = Path(__file__).with_name("data") / "bilingual"

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
"""LoCoMo's categories that can be answered; 5 holds questions about what was never said."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the ids of the messages that answer it, its groups for the tables, and when it is asked."""

    text: str
    evidence: frozenset[str]
    groups: tuple[str, ...]
    asked: datetime


@dataclass(frozen=True, slots=True)
class Conversation:
    """All that one user said, by session in order; each message's ``metadata["id"]`` is what evidence names."""

    user: str
    sessions: Mapping[str, Sequence[Message]]
    questions: Sequence[Question]


def read_locomo(path: Path) -> list[Conversation]:
    """Read LoCoMo (Maharana et al., ACL 2024), which is not part of this repository."""
    return [_locomo(sample) for sample in json.loads(path.read_text(encoding="utf-8"))]


def read_bilingual(directory: Path = BILINGUAL) -> list[Conversation]:
    """Read the set that ships with the repository; its README says how it is made."""
    rows = list(_lines(directory / "questions.jsonl"))
    conversations = []
    for user in dict.fromkeys(row["user"] for row in rows):
        sessions: dict[str, list[Message]] = {}
        texts: dict[str, str] = {}
        for line in _lines(directory / f"{user}.jsonl"):
            message = Message(
                role=line["role"],
                content=line["content"],
                timestamp=datetime.fromisoformat(line["timestamp"]),
                metadata={"id": line["id"]},
            )
            sessions.setdefault(line["session"], []).append(message)
            texts[line["id"]] = line["content"]
        after = _end(sessions) + timedelta(days=1)
        questions = [
            Question(
                text=row["question"],
                evidence=frozenset(row["evidence"]),
                groups=(row["type"], _pair(row["question"], [texts[name] for name in row["evidence"]])),
                asked=datetime.fromisoformat(row["asked"]) if "asked" in row else after,
            )
            for row in rows
            if row["user"] == user
        ]
        conversations.append(Conversation(user, sessions, questions))
    return conversations


def in_one_user(conversations: Sequence[Conversation]) -> list[Conversation]:
    """Return everything as the memory of one user, which is harder: all the others' turns distract."""
    sessions: dict[str, list[Message]] = {}
    questions: list[Question] = []
    for conversation in conversations:
        for name, messages in conversation.sessions.items():
            sessions[f"{conversation.user} {name}"] = [
                replace(message, metadata={"id": f"{conversation.user} {message.metadata['id']}"})
                for message in messages
            ]
        questions += [
            replace(question, evidence=frozenset(f"{conversation.user} {name}" for name in question.evidence))
            for question in conversation.questions
        ]
    return [Conversation("everybody", sessions, questions)]


def _locomo(sample: Mapping[str, Any]) -> Conversation:
    sessions: dict[str, list[Message]] = {}
    for session, message in _turns(sample["conversation"]):
        sessions.setdefault(session, []).append(message)
    turns = {message.metadata["id"] for messages in sessions.values() for message in messages}
    after = _end(sessions) + timedelta(days=1)
    questions = []
    for entry in sample["qa"]:
        # The data has ids like "D8:06" and "D8:6; D9:17" in one string.
        named = re.findall(r"D(\d+):(\d+)", " ".join(entry["evidence"]))
        evidence = frozenset(f"D{int(session)}:{int(turn)}" for session, turn in named) & turns
        if entry["category"] in CATEGORIES and evidence:
            questions.append(Question(entry["question"], evidence, (CATEGORIES[entry["category"]],), after))
    return Conversation(sample["sample_id"], sessions, questions)


def _turns(conversation: Mapping[str, Any]) -> Iterator[tuple[str, Message]]:
    """Yield ``(session, message)`` in order; turns of a session are one minute apart."""
    numbers = sorted(int(key.split("_")[1]) for key in conversation if re.fullmatch(r"session_\d+", key))
    for number in numbers:
        start = datetime.strptime(
            conversation[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y"
        ).replace(tzinfo=UTC)
        for minute, turn in enumerate(conversation[f"session_{number}"]):
            caption = f" [shared photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            yield (
                f"session_{number}",
                Message(
                    role="user" if turn["speaker"] == conversation["speaker_a"] else "assistant",
                    name=turn["speaker"],
                    content=turn["text"] + caption,
                    timestamp=start + timedelta(minutes=minute),
                    metadata={"id": turn["dia_id"]},
                ),
            )


def _end(sessions: Mapping[str, Sequence[Message]]) -> datetime:
    return max(
        message.timestamp for messages in sessions.values() for message in messages if message.timestamp
    )


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _pair(question: str, evidence: Sequence[str]) -> str:
    return f"{_language(question)}→{_language(' '.join(evidence))}"


def _language(text: str) -> str:
    share = cjk_share(text)
    return "zh" if share > 0.7 else "en" if share < 0.1 else "mixed"
