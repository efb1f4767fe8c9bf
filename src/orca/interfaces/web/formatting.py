"""How pages write figures and times. Words are the templates' business; these are the same in every language."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup

from orca.text.parts import plain_text
from orca.types import Content

PREVIEW_CHARACTERS = 600
"""Longest text that a list shows; the rest is one click away."""


def moment(value: datetime | None) -> Markup:
    """Return a time as a ``<time>`` element in UTC, to the minute."""
    if value is None:
        return Markup("–")
    return Markup('<time datetime="{}" title="{} UTC">{}</time>').format(
        value.isoformat(timespec="seconds"), f"{value:%Y-%m-%d %H:%M:%S}", f"{value:%Y-%m-%d %H:%M}"
    )


def duration(seconds: float | None) -> str:
    """Return a span of time in its two largest units."""
    if seconds is None:
        return "–"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def between(start: datetime | None, end: datetime | None) -> str:
    """Return how long something took, a dash where that is not known."""
    return duration(None if start is None or end is None else max(0.0, (end - start).total_seconds()))


def number(value: float) -> str:
    """Return a count with thousands set apart."""
    return f"{value:,}"


def size(value: int | None) -> str:
    """Return a number of bytes in the unit that keeps it short."""
    if value is None:
        return "–"
    amount, unit = float(value), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"


def pretty_json(value: Any) -> str:
    """Return a value, or the JSON in a text, over several lines; a text that is no JSON as it is."""
    if isinstance(value, str):
        text = value
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return text
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def words(content: Content) -> str:
    """Return the words of a message's content."""
    return plain_text(content)


def is_long(text: str) -> bool:
    """Whether a text is folded in lists."""
    return len(text) > PREVIEW_CHARACTERS or text.count("\n") > 12


def preview(text: str, length: int = PREVIEW_CHARACTERS) -> str:
    """Return the beginning of a text, on one line where ``length`` is short."""
    cut = "\n".join(text.split("\n")[:12])[:length].rstrip()
    return cut + ("…" if len(cut) < len(text.rstrip()) else "")


def stored_bytes(location: str) -> int | None:
    """Return the size of a store that is a file, with what is not yet merged into it; None for one that is not."""
    try:
        main = Path(location).stat().st_size
    except (OSError, ValueError):
        return None
    log = Path(f"{location}-wal")
    return main + (log.stat().st_size if log.exists() else 0)


def space_name(key: str) -> str:
    """Return an embedding space's key as something to read: provider, model and dimensions, prefixes where there are."""
    return " · ".join(part for part in key.split("|") if part)


def percent(part: float, whole: float) -> str:
    """Return a share as a length for SVG."""
    return f"{100 * part / whole:.3f}%" if whole else "0%"


FILTERS = {
    "moment": moment,
    "duration": duration,
    "number": number,
    "size": size,
    "pretty_json": pretty_json,
    "words": words,
    "preview": preview,
    "space_name": space_name,
}

GLOBALS = {"between": between, "is_long": is_long, "percent": percent}
