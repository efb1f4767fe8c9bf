"""What an MCP server says, in Orca's terms: names and schemas of its tools, and results as text. Pure functions.

A server is somebody else's program. Its names are made safe, its schemas and descriptions are bounded, and what
cannot be offered to a model is refused with a reason.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection
from typing import Any

from mcp_types import (
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from mcp_types import Tool as ServerTool

from orca.agent.tools import bounded
from orca.errors import ConfigError, ToolError
from orca.text.jsonable import jsonable, to_json
from orca.text.normalize import clean

MAX_NAME = 64
"""Longest name of a tool that the chat APIs take."""

MAX_DESCRIPTION = 4_000
"""Longest description of a tool, in characters. All of them stand in every prompt."""

MAX_SCHEMA = 16_000
"""Longest schema of a tool as JSON, in characters, about 4K tokens; a longer one is no schema but an accident."""

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def tool_name(server: str, name: str, *, taken: Collection[str] = ()) -> str:
    """Return ``server__name`` as the chat APIs take it and as nobody else is called.

    Other characters become underscores. A name that is too long, taken, or of which nothing readable is left ends
    in a digest of the original, so that it is the same in every session.
    """
    plain = f"{_UNSAFE.sub('_', server)}__{_UNSAFE.sub('_', name)}"
    readable = re.search(r"[A-Za-z0-9]", name)
    if readable and len(plain) <= MAX_NAME and plain not in taken:
        return plain
    original = f"{server}\0{name}".encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(original).hexdigest()
    for length in range(8, len(digest), 8):
        candidate = f"{plain[: MAX_NAME - length - 1].rstrip('_')}_{digest[:length]}"
        if candidate not in taken:
            return candidate
    raise ToolError(f"the server lists {name!r} more than once")


def description(tool: ServerTool) -> str:
    """Return what the server says that its tool does, without control characters and bounded."""
    said = tool.description or tool.title or tool.name
    return bounded(_CONTROL.sub(" ", clean(said)).strip(), MAX_DESCRIPTION)


def parameters(tool: ServerTool) -> dict[str, Any]:
    """Return the schema of the tool's arguments as it is. Raises ``ToolError`` for one that no model can be given."""
    schema = tool.input_schema
    if schema.get("type", "object") != "object":
        raise ToolError(f"its arguments are {schema['type']!r} and not an object")
    try:
        safe = jsonable(schema, where="the schema")
        size = len(json.dumps(safe, ensure_ascii=False))
    except (ConfigError, RecursionError) as error:
        raise ToolError(f"its schema cannot be used: {error}") from error
    if size > MAX_SCHEMA:
        raise ToolError(f"its schema has {size} characters, of {MAX_SCHEMA} allowed")
    # Several APIs refuse an object without properties, which servers send for tools without arguments.
    return {"type": "object", "properties": {}, **safe}


def result_text(result: CallToolResult) -> str:
    """Return a result as text: text parts as they are, other parts as a short mark, structured content as JSON.

    Servers are asked to repeat structured content as text for older clients; what says the same is not said twice.
    """
    parts = [_part(part) for part in result.content]
    if result.structured_content is not None and not _repeats(result.structured_content, result.content):
        parts.append(_json(result.structured_content))
    return clean("\n\n".join(part for part in parts if part))


def _part(part: ContentBlock) -> str:
    if isinstance(part, TextContent):
        return part.text
    if isinstance(part, ImageContent | AudioContent):
        return f"[{part.type}: {_line(part.mime_type)}, {_decoded_size(part.data)} bytes, not shown]"
    if isinstance(part, ResourceLink):
        return f"[link: {_line(part.title or part.name)} {_line(part.uri)}]"
    return _resource(part)


def _resource(part: EmbeddedResource) -> str:
    resource = part.resource
    if isinstance(resource, TextResourceContents):
        return f"[{_line(resource.uri)}]\n{resource.text}"
    kind = _line(resource.mime_type or "binary")
    return f"[{_line(resource.uri)}: {kind}, {_decoded_size(resource.blob)} bytes, not shown]"


def _repeats(structured: Any, content: list[ContentBlock]) -> bool:
    texts = [part.text for part in content if isinstance(part, TextContent)]
    if not texts:
        return False
    # The SDK's servers wrap values that are no objects as {"result": value} and send the items of a list one by one.
    whole = structured
    inner = (
        structured["result"] if isinstance(structured, dict) and set(structured) == {"result"} else structured
    )
    said = [_parsed(text) for text in texts]
    return any(one in (whole, inner) for one in (*said, *texts)) or (
        isinstance(inner, list) and inner == said
    )


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _json(value: Any) -> str:
    try:
        return to_json(value, where="the structured content")
    except ConfigError as error:
        return f"[structured content that cannot be shown: {error}]"


def _decoded_size(base64_text: str) -> int:
    return len(base64_text.rstrip("=")) * 3 // 4


def _line(text: str) -> str:
    """Return ``text`` on one short line, so that a mark stays a mark."""
    return bounded(" ".join(clean(text).split()), 200)
