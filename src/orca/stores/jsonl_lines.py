"""Messages as lines of ``JSONLStore``'s files, and back.

A line is the plain log format with the ids added, so that any importer of plain logs reads it too. A file's first
line names its scope and remembers the last id and position given out, which deleted messages keep.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, get_args

from orca.errors import ConfigError
from orca.text.jsonable import to_json
from orca.text.times import from_text, optional_to_text
from orca.types import ROLES, Message, MessageType, Scope

HEAD_KEY = "orca_log"
VERSION = 1

_OPTIONAL = ("name", "tool_call_id", "origin", "reasoning", "dedupe_key")


def head_line(scope: Scope, *, last_id: int, last_position: int) -> bytes:
    """Return the first line of a scope's file."""
    head = {
        HEAD_KEY: VERSION,
        "user": scope.user,
        "agent": scope.agent,
        "session": scope.session,
        "last_id": last_id,
        "last_position": last_position,
    }
    return to_json(head, where="log").encode() + b"\n"


def message_line(message: Message) -> bytes:
    """Return a message as a line. Raises ``ConfigError`` naming a value that cannot be stored."""
    fields: dict[str, Any] = {
        "id": message.id,
        "position": message.position,
        "session": message.session,
        "user": message.user,
        "agent": message.agent,
        "timestamp": optional_to_text(message.timestamp),
        "role": message.role,
        "content": message.content,
    }
    fields |= {key: value for key in _OPTIONAL if (value := getattr(message, key)) is not None}
    if message.tool_calls is not None:
        fields["tool_calls"] = list(message.tool_calls)
    if message.msg_type != "normal":
        fields["msg_type"] = message.msg_type
    if message.token_count:
        fields["token_count"] = message.token_count
    if message.metadata:
        fields["metadata"] = message.metadata
    # Each value on its own, so that an error names the field that is at fault.
    body = ",".join(f"{json.dumps(key)}:{to_json(value, where=key)}" for key, value in fields.items())
    return f"{{{body}}}\n".encode()


def message_of(fields: Mapping[str, Any]) -> Message:
    """Return the message of a line's object. Raises ``KeyError``, ``TypeError`` or ``ValueError`` for another one."""
    if fields["role"] not in ROLES:
        raise ValueError(f"role {fields['role']!r}")
    return Message(
        id=int(fields["id"]),
        position=int(fields["position"]),
        user=str(fields["user"]),
        session=str(fields["session"]),
        agent=str(fields["agent"]),
        role=fields["role"],
        content=fields["content"],
        timestamp=from_text(fields["timestamp"]),
        tool_calls=fields.get("tool_calls"),
        msg_type=fields.get("msg_type", "normal"),
        token_count=int(fields.get("token_count", 0)),
        metadata=fields.get("metadata", {}),
        **{key: fields[key] for key in _OPTIONAL if key in fields},
    )


def check_scope(scope: Scope) -> Scope:
    """Return the scope. Raises ``ConfigError`` when an id holds half a surrogate pair and would meet another id."""
    for field in ("user", "session", "agent"):
        value = getattr(scope, field)
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise ConfigError(f"{field} is {value!r}, which is not valid Unicode text") from None
    return scope


def check_message(message: Message) -> None:
    """Raise ``ConfigError`` for a role or a type that the contract does not know."""
    if message.role not in ROLES:
        raise ConfigError(f"role is {message.role!r}; it is one of {', '.join(ROLES)}")
    if message.msg_type not in get_args(MessageType):
        raise ConfigError(
            f"msg_type is {message.msg_type!r}; it is one of {', '.join(get_args(MessageType))}"
        )


def check_limit(limit: int | None) -> int | None:
    """Return the limit. Raises ``ConfigError`` for a negative one."""
    if limit is not None and limit < 0:
        raise ConfigError(f"limit is {limit}; give 0 or more, or None for all")
    return limit
