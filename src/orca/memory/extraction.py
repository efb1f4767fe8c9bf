"""A model's extraction reply: repaired where it is malformed, validated, and trusted with nothing it was not given."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from orca.errors import ProviderResponseError
from orca.text.reasoning import split_reasoning
from orca.types import MEMORY_KINDS

MAX_CONTENT_CHARACTERS = 500
"""A memory is a sentence; what is longer was copied, not extracted."""

MAX_PROPOSALS = 50
"""Most changes taken from one reply."""


def _lowered(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


def _number(value: Any) -> Any:
    """Let ``"12"`` and ``"[12]"`` pass as 12, and anything else fail by itself later."""
    if isinstance(value, str) and (match := re.fullmatch(r"\s*\[?#?(\d{1,18})\]?\s*", value)):
        return int(match.group(1))
    return value


def _numbers(value: Any) -> Any:
    """Let one number pass for a list of one."""
    if value is None:
        return []
    return [_number(item) for item in value] if isinstance(value, list) else [_number(value)]


class Proposal(BaseModel):
    """One change that the model proposes."""

    model_config = ConfigDict(extra="ignore")

    action: Annotated[Literal["add", "update", "delete", "none"], BeforeValidator(_lowered)] = "add"
    id: Annotated[int | str | None, BeforeValidator(_number)] = None
    content: str = Field(default="", max_length=MAX_CONTENT_CHARACTERS)
    kind: Annotated[Literal["preference", "fact", "decision", "project"], BeforeValidator(_lowered)] = "fact"
    speaker: Annotated[Literal["user", "assistant"], BeforeValidator(_lowered)] = "user"
    message_ids: Annotated[list[int | str], BeforeValidator(_numbers)] = Field(default_factory=list)


class Extraction(BaseModel):
    """The whole reply."""

    model_config = ConfigDict(extra="ignore")

    memories: list[Proposal] = Field(max_length=MAX_PROPOSALS)


SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["memories"],
    "properties": {
        "memories": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["action", "id", "content", "kind", "speaker", "message_ids"],
                "properties": {
                    "action": {"type": "string", "enum": ["add", "update", "delete"]},
                    "id": {"type": ["integer", "null"]},
                    "content": {"type": "string"},
                    "kind": {"type": "string", "enum": list(MEMORY_KINDS)},
                    "speaker": {"type": "string", "enum": ["user", "assistant"]},
                    "message_ids": {"type": "array", "items": {"type": "integer"}},
                },
            },
        }
    },
}
"""What structured output is asked for: strict JSON schema, every field required."""


def parse(reply: str) -> Extraction:
    """Return what a reply proposes. Raises ``ProviderResponseError`` with the reason when it cannot be used.

    Code fences, prose around the JSON, trailing commas and an end that was cut off are repaired; a bare list
    is taken for the list of memories; entries that are cut off in the middle are dropped.
    """
    data = _load(reply)
    if isinstance(data, list):
        data = {"memories": data}
    try:
        return Extraction.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the reply"
        raise ProviderResponseError(f"{where}: {first['msg']} ({error.error_count()} problems)") from error


_FENCE = re.compile(r"```[\w-]*\n?(.*?)(?:```|\Z)", re.DOTALL)


def _load(reply: str) -> Any:
    text = split_reasoning(reply)[0].strip()
    if not text:
        raise ProviderResponseError("the reply is empty")
    fenced = _FENCE.search(text)
    for candidate in ([fenced.group(1)] if fenced else []) + [text]:
        for start in _starts(candidate):
            body = _balanced(candidate[start:])
            for form in (body, _without_trailing_commas(body)):
                try:
                    data = json.loads(form)
                except (json.JSONDecodeError, RecursionError):
                    continue
                if _has_shape(data):
                    return data
    raise ProviderResponseError("the reply holds no JSON object with a list of memories")


def _starts(text: str) -> list[int]:
    """Return where an object or a list may begin; prose before the JSON may hold brackets too."""
    return [match.start() for match in re.finditer(r"[{\[]", text)][:20]


def _has_shape(data: Any) -> bool:
    if isinstance(data, list):
        return all(isinstance(item, dict) for item in data)
    return isinstance(data, dict) and "memories" in data


def _balanced(text: str) -> str:
    """Return the first whole JSON value of ``text``; one that was cut off is closed after its last whole entry."""
    stack: list[str] = []
    in_string = escaped = False
    last_entry: tuple[int, str] | None = None  # where an inner object ended, and what closes the rest there
    for position, character in enumerate(text):
        if in_string:
            escaped = character == "\\" and not escaped
            if character == '"' and not escaped:
                in_string = False
            continue
        if character == '"':
            in_string, escaped = True, False
        elif character in "{[":
            stack.append("}" if character == "{" else "]")
        elif character in "}]" and stack:
            stack.pop()
            if not stack:
                return text[: position + 1]
            if character == "}":
                last_entry = (position + 1, "".join(reversed(stack)))
    if last_entry is None:
        return text
    end, closing = last_entry
    return text[:end] + closing


def _without_trailing_commas(text: str) -> str:
    """Drop commas before a closing bracket, outside of strings."""
    return re.sub(r'("(?:\\.|[^"\\])*")|,(\s*[}\]])', lambda match: match.group(1) or match.group(2), text)
