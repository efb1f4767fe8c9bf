"""A turn on the screen: live and in Markdown for people, plain for pipes.

Whatever is complete is printed once and never touched again. Only the block of the reply that still grows, and a
line for each tool and sub-agent at work, are redrawn, and they never take more lines than the screen has.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from orca.agent.events import (
    ContextBuilt,
    Event,
    TextDelta,
    ToolsMissing,
    ToolStarted,
    TurnFailed,
    TurnFinished,
)
from orca.interfaces.cli.chat_activity import Activity
from orca.interfaces.cli.chat_markdown import StreamedMarkdown, Trimmed, markdown, one_line
from orca.interfaces.cli.chat_terminal import QuietKeyboard
from orca.interfaces.cli.i18n import why
from orca.interfaces.cli.output import harmless, note

REFRESHES = 8
"""Redraws a second: enough for the eye, little enough for a slow line."""

_KEPT_LINES = 2
"""Lines of the screen that a live picture leaves free: one above it, one for the cursor."""


class View(Protocol):
    """Shows a turn as it happens."""

    def show(self, event: Event) -> None:
        """Show one event."""
        ...

    @contextmanager
    def asking(self) -> Iterator[Console]:
        """Clear the screen's live part for a question, for a block."""
        ...

    def end(self) -> None:
        """Print what is not printed yet; nothing moves afterwards."""
        ...


class LiveView:
    """A turn for a person at a terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._text = StreamedMarkdown()
        self._activity = Activity()
        self._said = ""
        self._printed = False
        self._picture = _Picture(self._text, self._activity)
        self._live = self._new_live()
        self._keyboard = QuietKeyboard()
        self._keyboard.start()
        self._live.start()

    def show(self, event: Event) -> None:
        """Show one event."""
        if isinstance(event, ContextBuilt | ToolStarted):  # what was said so far is a message of its own
            self._print(self._text.rest())
            self._said = ""
        line = self._activity.take(event)
        if line is not None:
            self._print(self._text.rest())
            self._console.print(_activity_line(line, self._console.width))
        if isinstance(event, TextDelta):
            self._said += event.text
            self._print(self._text.feed(event.text))
        elif isinstance(event, ToolsMissing):
            for reason in event.reasons:
                self._console.print(Text(f"⚠ {harmless(why(reason))}", style="yellow"))
        elif isinstance(event, TurnFinished):
            self._finish(event.result.text)

    @contextmanager
    def asking(self) -> Iterator[Console]:
        """Clear the screen's live part for a question, for a block."""
        self._live.stop()
        self._keyboard.stop()
        try:
            yield self._console
        finally:
            self._keyboard.start()
            self._live = self._new_live()
            self._live.start()

    def end(self) -> None:
        """Print what is not printed yet; nothing moves afterwards."""
        rest = self._text.rest()
        self._live.stop()
        self._keyboard.stop()
        self._print(rest)

    def _finish(self, text: str) -> None:
        """Say the reply as it is stored, where that is not what was streamed."""
        if text.strip() == self._said.strip():
            return
        more = text.removeprefix(self._said) if text.startswith(self._said) else text
        self._text.rest()
        self._print(more)

    def _print(self, text: str) -> None:
        if text.strip():
            if self._printed:
                self._console.print()
            self._console.print(markdown(text.rstrip()))
            self._printed = True
            self._picture.follows = True

    def _new_live(self) -> Live:
        return Live(
            self._picture,
            console=self._console,
            transient=True,
            refresh_per_second=REFRESHES,
            vertical_overflow="crop",
        )


class PlainView:
    """A turn for a pipe: the reply as it is on standard output, one line for each tool on standard error."""

    def __init__(self, *, quiet: bool = False) -> None:
        """``quiet`` says nothing of the reply, which then comes as JSON."""
        self._quiet = quiet
        self._activity = Activity()
        self._said = ""
        self._open = False

    def show(self, event: Event) -> None:
        """Show one event."""
        if isinstance(event, ContextBuilt | ToolStarted):
            self._break()
            self._said = ""
        line = self._activity.take(event)
        if line is not None:
            note(one_line(line, 200))
        if isinstance(event, TextDelta):
            self._said += event.text
            self._write(event.text)
        elif isinstance(event, ToolsMissing):
            for reason in event.reasons:
                note(harmless(why(reason)))
        elif isinstance(event, TurnFinished):
            text, said = event.result.text, self._said
            if text.strip() != said.strip():
                self._break()
                self._write(text.removeprefix(said) if text.startswith(said) else text)
        elif isinstance(event, TurnFailed):
            self._break()

    @contextmanager
    def asking(self) -> Iterator[Console]:
        """Return a console on standard error for the question."""
        self._break()
        yield Console(file=sys.stderr, highlight=False)

    def end(self) -> None:
        """End the line."""
        self._break()

    def _write(self, text: str) -> None:
        if text and not self._quiet:
            sys.stdout.write(harmless(text))
            sys.stdout.flush()
            self._open = not text.endswith("\n")

    def _break(self) -> None:
        if self._open:
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._open = False


class _Picture:
    """The live part of the screen."""

    def __init__(self, text: StreamedMarkdown, activity: Activity) -> None:
        self._text = text
        self._activity = activity
        self._spinner = Spinner("dots", style="cyan")
        self.follows = False
        """Whether a part of the reply stands above, from which an empty line parts the rest."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = max(options.size.height - _KEPT_LINES, 1)
        lines = self._activity.lines()[:room]
        tail = self._text.tail
        if tail.strip() and room > len(lines):
            if self.follows and room > len(lines) + 1:
                yield Text("")
                room -= 1
            yield Trimmed(markdown(tail), last=room - len(lines))
        frame = self._spinner.render(console.get_time())
        for line in itertools.islice(lines, room):
            drawn = Text.assemble(frame if isinstance(frame, Text) else "", " ", (line, "dim"))
            drawn.truncate(options.max_width, overflow="ellipsis")
            yield drawn


def _activity_line(line: str, width: int) -> Text:
    style = "red" if line.startswith("✗") else "dim"
    return Text(one_line(line, width), style=style)
