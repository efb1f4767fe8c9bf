"""Any Python value as JSON, by conversions that are documented here and nowhere else.

========================  ==========================================================
given                     stored
========================  ==========================================================
str, int, bool, None      as they are (text with lone surrogates replaced)
float                     as it is; NaN and the infinities, which JSON lacks, as null
datetime, date, time      ISO 8601 text
bytes, bytearray          ``{"$base64": "…"}``
Decimal                   its text, so that no digit is lost
set, frozenset            a list, sorted
Mapping                   an object; its keys must be text
list, tuple               a list
========================  ==========================================================

Anything else is a ``ConfigError`` that names the place of the value.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from orca.errors import ConfigError
from orca.text.normalize import clean

MAX_DEPTH = 100
"""Values nested deeper than this are refused; far below the depth at which Python's own encoder fails."""


def to_json(value: Any, *, where: str) -> str:
    """Return ``value`` as compact JSON text. Raises ``ConfigError`` naming ``where`` it cannot be stored."""
    return json.dumps(jsonable(value, where=where), ensure_ascii=False, separators=(",", ":"))


def jsonable(value: Any, *, where: str, depth: int = 0) -> Any:
    """Return ``value`` made of JSON's own types. Raises ``ConfigError`` naming ``where`` it cannot be."""
    if depth > MAX_DEPTH:
        raise ConfigError(f"{where.split('.', maxsplit=1)[0]} is nested deeper than {MAX_DEPTH} levels")
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {
            _key(key, where): jsonable(item, where=f"{where}.{key}", depth=depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [
            jsonable(item, where=f"{where}[{index}]", depth=depth + 1) for index, item in enumerate(value)
        ]
    if isinstance(value, set | frozenset):
        items = [jsonable(item, where=f"{where}{{}}", depth=depth + 1) for item in value]
        return sorted(items, key=_sort_key)
    return _scalar(value, where)


def _key(key: Any, where: str) -> str:
    if not isinstance(key, str):
        raise ConfigError(f"{where} has the key {key!r}; keys must be text")
    return clean(key)


def _sort_key(item: Any) -> tuple[bool, Any, str]:
    """Order numbers by value and everything else by its JSON text, so that mixed sets have one order."""
    number = isinstance(item, int | float)
    return (not number, item if number else 0, json.dumps(item, sort_keys=True))


def _scalar(value: Any, where: str) -> Any:
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return {"$base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, Decimal):
        return str(value)
    raise ConfigError(f"{where} is a {type(value).__name__}, which cannot be stored as JSON")
