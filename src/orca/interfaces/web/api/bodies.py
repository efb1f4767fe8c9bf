"""What the REST API takes: bodies, checked before anything is done."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from orca.interfaces.web.state import MAX_ID
from orca.text.jsonable import jsonable
from orca.text.normalize import clean
from orca.types import MemoryKind

MAX_TEXT = 100_000
"""Longest text that a request may hand in, in characters."""


def _cleaned(value: object) -> object:
    return clean(value) if isinstance(value, str) else value


def _in_utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("is no time between the years 1 and 9999 in UTC") from error


def _stored(value: object) -> object:
    """Return metadata as it would be stored: half a surrogate pair could not be sent back."""
    return jsonable(value, where="metadata")


SOMETHING = r"[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
"""A character that is neither white space nor a control. Spelled out, because engines differ over what ``\\s`` is."""

Text = Annotated[str, BeforeValidator(_cleaned), Field(min_length=1, max_length=MAX_TEXT, pattern=SOMETHING)]
"""Text with something in it; half a surrogate pair becomes U+FFFD."""

AnyText = Annotated[str, BeforeValidator(_cleaned), Field(max_length=MAX_TEXT)]
Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]


class In(BaseModel):
    """What is taken in; an unknown field is an error."""

    model_config = ConfigDict(extra="forbid")


class SessionChange(In):
    """A new title; blank takes the title away."""

    title: Annotated[str, BeforeValidator(_cleaned), Field(max_length=500)]


class MemoryNew(In):
    """Something worth knowing."""

    content: Text
    kind: MemoryKind = "fact"
    expires_at: Moment | None = None
    metadata: Annotated[dict[str, Any], BeforeValidator(_stored)] = Field(default_factory=dict)


class MemoryChange(In):
    """What the next version of a memory says; what is left out stays."""

    content: Text | None = None
    kind: MemoryKind | None = None


class ContextQuery(In):
    """What to build a prompt for."""

    query: AnyText | None = None
    session: Annotated[str, BeforeValidator(_cleaned), Field(max_length=1000)] = "default"
    window_tokens: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    system: AnyText | None = None


class JobsNamed(In):
    """Which jobs; without ``ids`` all of them."""

    ids: Annotated[list[Annotated[int, Field(ge=1, le=MAX_ID)]], Field(max_length=1000)] | None = None
