"""Parameters that several pages take. A form sends an empty text for what was not chosen: that is no value."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Form, Path, Query
from pydantic import BeforeValidator

from orca.interfaces.web.api.schemas import MAX_TEXT
from orca.interfaces.web.state import MAX_ID
from orca.types import MemoryKind, MemoryState, RunStatus, SessionState


def _blank(value: Any) -> Any:
    return None if value == "" else value


BLANK = BeforeValidator(_blank)

RowId = Annotated[int, Path(ge=1, le=MAX_ID)]
Place = Annotated[int | None, BLANK, Query(ge=0, le=MAX_ID)]
Text = Annotated[str | None, BLANK, Query(max_length=1000)]
Kind = Annotated[MemoryKind | None, BLANK, Query()]
State = Annotated[MemoryState | None, BLANK, Query()]
OpenOrEnded = Annotated[SessionState | None, BLANK, Query()]
Status = Annotated[RunStatus | None, BLANK, Query()]
Words = Annotated[str, Form(max_length=MAX_TEXT)]
