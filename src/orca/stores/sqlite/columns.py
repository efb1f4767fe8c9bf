"""Message content, metadata and tool calls as columns, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from orca.errors import ConfigError
from orca.text.jsonable import to_json
from orca.text.normalize import clean
from orca.text.parts import plain_text
from orca.types import Content


def content_columns(content: Content) -> tuple[str, str | None]:
    """Return ``(content, raw_content)``: plain text as it is, any other shape as words plus exact JSON."""
    if isinstance(content, str):
        return clean(content), None
    raw = to_json(content, where="content")
    return plain_text(json.loads(raw)), raw


def content_of(text: str, raw: str | None) -> Content:
    """Return the content that ``content_columns`` was given."""
    if raw is None:
        return text
    content: Content = json.loads(raw)
    return content


def calls_column(calls: Sequence[Mapping[str, Any]] | None) -> str | None:
    """Return tool calls as JSON, or None."""
    return None if calls is None else to_json(list(calls), where="tool_calls")


def calls_of(text: str | None) -> list[dict[str, Any]] | None:
    """Return the tool calls of a column."""
    if text is None:
        return None
    calls: list[dict[str, Any]] = json.loads(text)
    return calls


def metadata_column(metadata: Mapping[str, Any]) -> str | None:
    """Return metadata as JSON; None when there is none. Raises ``ConfigError`` naming a key it cannot store."""
    if not isinstance(metadata, Mapping):
        raise ConfigError(f"metadata is a {type(metadata).__name__}; give a mapping")
    return to_json(metadata, where="metadata") if metadata else None


def metadata_of(text: str | None) -> dict[str, Any]:
    """Return the metadata of a column."""
    if text is None:
        return {}
    metadata: dict[str, Any] = json.loads(text)
    return metadata


def optional_text(text: str | None) -> str | None:
    """Return cleaned text, or None."""
    return None if text is None else clean(text)


def content_hash(*parts: str | None) -> str:
    """Return a short digest of what a message says, the same in every process."""
    return blake2b("\x1f".join(part or "" for part in parts).encode(), digest_size=16).hexdigest()


def one_of(field: str, value: str, allowed: Sequence[str]) -> str:
    """Return ``value``. Raises ``ConfigError`` naming the field when it is none of ``allowed``."""
    if value not in allowed:
        raise ConfigError(f"{field} is {value!r}; it is one of {', '.join(allowed)}")
    return value
