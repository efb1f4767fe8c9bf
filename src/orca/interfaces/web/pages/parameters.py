"""Parameters that several pages take. A form sends an empty text for what was not chosen: that is no value."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Form, Path, Query
from pydantic import BeforeValidator, Field

from orca.interfaces.web.api.bodies import MAX_TEXT
from orca.interfaces.web.state import MAX_ID, MAX_NAME
from orca.memory.lab import MAX_WINDOW, MIN_WINDOW
from orca.types import MemoryKind, MemoryState, RunStatus, SessionState


def _blank(value: Any) -> Any:
    return None if value == "" else value


BLANK = BeforeValidator(_blank)

RowId = Annotated[int, Path(ge=1, le=MAX_ID)]
Place = Annotated[Annotated[int, Field(ge=0, le=MAX_ID)] | None, BLANK, Query()]
Text = Annotated[Annotated[str, Field(max_length=MAX_NAME)] | None, BLANK, Query()]
Window = Annotated[Annotated[int, Field(ge=MIN_WINDOW, le=MAX_WINDOW)] | None, BLANK, Query()]
Kind = Annotated[MemoryKind | None, BLANK, Query()]
State = Annotated[MemoryState | None, BLANK, Query()]
OpenOrEnded = Annotated[SessionState | None, BLANK, Query()]
Status = Annotated[RunStatus | None, BLANK, Query()]
Words = Annotated[str, Form(max_length=MAX_TEXT)]
