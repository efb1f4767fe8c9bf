"""Instants as text that sorts: fixed-width ISO 8601 in UTC, ``2026-05-10T08:00:00.000000+00:00``."""

from __future__ import annotations

from datetime import UTC, datetime

from orca.errors import ConfigError


def to_text(moment: datetime) -> str:
    """Return an instant as fixed-width text in UTC. Raises ``ConfigError`` for one without a time zone."""
    if moment.tzinfo is None:
        raise ConfigError(f"the time {moment.isoformat()} has no time zone; give an aware datetime")
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def from_text(text: str) -> datetime:
    """Return the instant that ``to_text`` wrote; text without an offset (``CURRENT_TIMESTAMP``) is UTC."""
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def optional_to_text(moment: datetime | None) -> str | None:
    """Return ``to_text`` of an instant, or None for None."""
    return None if moment is None else to_text(moment)


def optional_from_text(text: str | None) -> datetime | None:
    """Return ``from_text`` of a text, or None for None."""
    return None if text is None else from_text(text)
