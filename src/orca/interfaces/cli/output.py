"""What goes to standard output and standard error: one JSON document, or words."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

from orca.text.times import to_text

_COMMANDS_TO_TERMINALS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but tab and line feed, and those that turn the direction of writing around."""


def as_json(value: Any) -> Any:
    """Return a value of the library made of JSON's own types: dataclasses by field, times as ISO 8601 in UTC."""
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: as_json(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, datetime):
        return to_text(value)
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def print_json(document: Any) -> None:
    """Print the one JSON document of a command."""
    sys.stdout.write(json.dumps(as_json(document), ensure_ascii=False, indent=2) + "\n")
    sys.stdout.flush()


def say(text: str = "") -> None:
    """Print a line for the reader on standard output."""
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """Print a line about the work itself on standard error."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def harmless(text: str) -> str:
    """Return ``text`` for a screen: what would command the terminal is shown by its number.

    What models, tools and logs say may hold sequences that clear the screen, set its title, or write a path
    backwards under the question whether to allow it.
    """
    return _COMMANDS_TO_TERMINALS.sub(_escape, text.replace("\r\n", "\n"))


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def use_utf8() -> None:
    """Write and read UTF-8 whatever the terminal claims; what cannot be written is shown as an escape."""
    for stream in (sys.stdout, sys.stderr, sys.stdin):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace" if stream is sys.stdin else "backslashreplace")
