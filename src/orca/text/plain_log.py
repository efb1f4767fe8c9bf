"""The plain log format: one object a line with ``role``, ``content`` and a few optional keys.

==================  =====================================================================================
key                 meaning
==================  =====================================================================================
``role``            who speaks; the names in ``ROLE_NAMES`` are known
``content``         text, a list of parts, or null
``session``         the conversation (``session_id`` and ``conversation_id`` are read too)
``timestamp``       ISO 8601 with any zone, without one in UTC; or seconds, milliseconds, … since 1970
``name``            the speaker's or the tool's name
``tool_calls``      a list of calls, as OpenAI-style APIs give it
``tool_call_id``    which call a tool's message answers
``metadata``        an object, kept as it is
``agent``           the sub-agent that a transcript belongs to
==================  =====================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from orca.types import Message, Role

ROLE_NAMES: Mapping[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "gpt": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
    "tool_result": "tool",
}
"""Every name of a role that is understood, in lower case, and the role it means."""

SESSION_KEYS = ("session", "session_id", "conversation_id")
TIME_KEYS = ("timestamp", "created_at", "time")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
"""Numbers from the first figure on are that many parts of a second; 1e11 seconds are the year 5138."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedMessage:
    """A message of a log, its session where the line names one, and for sub-agents who spoke for which call."""

    message: Message
    session: str | None = None
    agent: str | None = None
    parent_call_id: str | None = None


def read_record(record: Mapping[str, Any]) -> LoggedMessage:
    """Return the message of a log line's object. Raises ``ValueError`` with the reason in words."""
    role = _role(record)
    content = record.get("content")
    if not (content is None or isinstance(content, str | list)):
        raise ValueError(f"content is {_kind(content)}; it must be a text, a list of parts or null")
    calls = record.get("tool_calls")
    if not (calls is None or (isinstance(calls, list) and all(isinstance(call, dict) for call in calls))):
        raise ValueError("tool_calls must be a list of objects or null")
    metadata = record.get("metadata")
    if not (metadata is None or isinstance(metadata, dict)):
        raise ValueError(f"metadata is {_kind(metadata)}; it must be an object or null")
    if role in ("user", "system") and _is_blank(content):
        raise ValueError(f"the {role} message is empty; there is nothing to remember in it")
    metadata = metadata or {}
    message = Message(
        role=role,
        content=content,
        name=_text(record, "name"),
        tool_calls=calls or None,
        tool_call_id=_text(record, "tool_call_id"),
        timestamp=_time(record),
        metadata=metadata,
        reasoning=_text(record, "reasoning"),
    )
    call_id = metadata.get("parent_tool_call_id")
    return LoggedMessage(
        message=message,
        session=next(filter(None, (_text(record, key) for key in SESSION_KEYS)), None),
        agent=_text(record, "agent"),
        parent_call_id=call_id if isinstance(call_id, str) else None,
    )


def parse_time(value: str | float) -> datetime:
    """Return an instant in UTC from ISO 8601 text or a number since 1970. Raises ``ValueError`` in words."""
    number = _number(value)
    try:
        if number is not None:
            parts = next((parts for least, parts in _UNITS if abs(number) >= least), 1.0)
            return _EPOCH + timedelta(seconds=number / parts)
        moment = datetime.fromisoformat(str(value).strip())
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(
            f"timestamp {value!r} is not a time; write it like 2026-05-10T08:30:00+08:00, or as seconds since 1970"
        ) from None


def _number(value: str | float) -> float | None:
    if isinstance(value, int | float):
        return float(value)
    text = value.strip()
    # Eight digits are a date like 20260510, not a moment of 1970.
    return float(text) if len(text) != 8 and text.replace(".", "", 1).isdecimal() else None


def _role(record: Mapping[str, Any]) -> Role:
    name = record.get("role")
    if name is None:
        raise ValueError("there is no role; add one of " + ", ".join(ROLE_NAMES))
    role = ROLE_NAMES.get(name.strip().lower()) if isinstance(name, str) else None
    if role is None:
        raise ValueError(f"role {name!r} is not known; use one of " + ", ".join(ROLE_NAMES))
    return role


def _time(record: Mapping[str, Any]) -> datetime | None:
    value = next((record[key] for key in TIME_KEYS if record.get(key) not in (None, "")), None)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(  # noqa: TRY004 - the log is wrong, not the argument's type
            f"timestamp is {_kind(value)}; write it like 2026-05-10T08:30:00+08:00"
        )
    return parse_time(value)


def _text(record: Mapping[str, Any], key: str) -> str | None:
    value = record.get(key)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)  # numbered sessions and calls are common
    raise ValueError(f"{key} is {_kind(value)}; it must be a text")


def _is_blank(content: object) -> bool:
    return not content or (isinstance(content, str) and not content.strip())


def _kind(value: object) -> str:
    names = {
        bool: "true or false",
        dict: "an object",
        list: "a list",
        str: "a text",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), type(value).__name__)
