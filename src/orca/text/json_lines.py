"""One line of a JSON Lines file, read so that a bad one says what is wrong with it and stops no other."""

from __future__ import annotations

import json
from typing import Any

BOM = b"\xef\xbb\xbf"
_EDGES = b"\x00 \t\r\n"
"""What may surround a record; a crash of the machine can leave NULs where a block was never written."""


def parse_line(line: bytes) -> dict[str, Any] | None:
    """Return the object on a line of UTF-8, or None for a blank line.

    Raw control characters inside texts are taken as they are; of a repeated key the last value counts, as
    JavaScript and Python read it. Raises ``ValueError`` with the reason in words.
    """
    body = line.removeprefix(BOM).strip(_EDGES)
    if not body:
        if b"\x00" in line:
            raise ValueError(
                "the line holds only NUL bytes, as after a crash; its text is lost, remove the line"
            )
        return None
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"byte {error.start + 1} is not valid UTF-8; save the file as UTF-8 and import it again"
        ) from None
    return parse_text(text)


def parse_text(text: str) -> dict[str, Any]:
    """Return the object that ``text`` holds. Raises ``ValueError`` with the reason in words."""
    try:
        value = json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"not JSON: {error.msg} at column {error.colno}; correct or remove the line"
        ) from None
    except RecursionError:
        raise ValueError("the JSON is nested too deeply; flatten or remove the line") from None
    except ValueError as error:  # a number with more digits than Python converts
        raise ValueError(f"not usable JSON: {error}; correct or remove the line") from None
    if not isinstance(value, dict):
        raise ValueError(  # noqa: TRY004 - the text is wrong, not the argument's type
            f'the line is {_NAMES.get(type(value), "a number")}, not an object; write {{"role": …, "content": …}}'
        )
    return value


_NAMES = {type(None): "null", str: "a text", list: "a list", bool: "true or false"}
