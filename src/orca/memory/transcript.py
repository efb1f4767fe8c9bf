"""A piece of a conversation as a model may read it: who said what, in order, bounded, without what is not theirs."""

from __future__ import annotations

from collections.abc import Sequence

from orca.protocols import Store
from orca.text.parts import plain_text
from orca.text.recalled import escape, strip_recalled
from orca.types import Message, Scope

MAX_MESSAGE_CHARACTERS = 4_000
"""Longest piece of a user's or the assistant's message in a transcript."""

MAX_TOOL_CHARACTERS = 600
"""Longest piece of a tool's result: what came of it matters, not its dump."""

MAX_TRANSCRIPT_CHARACTERS = 24_000
"""Longest transcript, about 8K to 16K tokens; steps in its middle give way first."""

_PAGE = 64  # messages read at a time when looking for a turn's beginning
_MAX_TURN = 1024  # a turn of more messages than this is summarised from its newest ones

_LABELS = {"user": "user", "assistant": "assistant", "tool": "tool result"}


FORGOTTEN = "forgotten"
"""Key in the metadata of a message from which nothing is learned again, since what it told was forgotten."""


def is_forgotten(message: Message) -> bool:
    """Whether a memory that this message told was forgotten."""
    return message.metadata.get(FORGOTTEN) is True


def said_text(message: Message) -> str:
    """Return a message's own words: plain text without recalled memory."""
    return strip_recalled(plain_text(message.content)).strip()


def turn_ending_at(store: Store, last: Message, *, scope: Scope) -> list[Message]:
    """Return the turn that a message ends, in order: the user's messages, the steps, and the message itself.

    System messages are left out. Goes back to the first user message after the reply before.
    """
    turn = [last]
    seen_user = False
    before = last.id
    while before is not None and len(turn) < _MAX_TURN:
        page = store.messages.recent(scope=scope, limit=_PAGE, before=before)
        for message in reversed(page):
            if message.role == "user":
                seen_user = True
            elif message.role != "system" and (seen_user or _is_reply(message)):
                return turn[::-1]
            if message.role != "system":
                turn.append(message)
        before = page[0].id if len(page) == _PAGE else None
    return turn[::-1]


def _is_reply(message: Message) -> bool:
    return message.role == "assistant" and not message.tool_calls and bool(said_text(message))


def transcript(messages: Sequence[Message], *, numbered: bool = False) -> str:
    """Return messages as lines ``[id] role: text`` in chronological order; system messages are left out.

    Text is escaped, so that nothing in it can pass for another line's frame. Long messages are cut in the middle.
    """
    lines = []
    for message in messages:
        label = _LABELS.get(message.role)
        text = said_text(message)
        if label is None:
            continue
        if message.tool_calls:
            names = ", ".join(str(call.get("function", {}).get("name", "?")) for call in message.tool_calls)
            text = f"{text} (calls {names})".strip()
        if not text:
            continue
        limit = MAX_TOOL_CHARACTERS if message.role == "tool" else MAX_MESSAGE_CHARACTERS
        number = f"[{message.id}] " if numbered else ""
        lines.append(f"{number}{label}: {escape(_shortened(text, limit))}".replace("\n", "\n    "))
    return "\n".join(_bounded(lines))


def _shortened(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    return f"{text[:head]} … {text[-(limit - head) :]}"


def _bounded(lines: list[str]) -> list[str]:
    """Drop lines from the middle until the rest fits: how it began and how it ended matter most."""
    total = sum(map(len, lines))
    while total > MAX_TRANSCRIPT_CHARACTERS and len(lines) > 2:
        total -= len(lines.pop(len(lines) // 2))
    return lines
