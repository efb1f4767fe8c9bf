"""Reading what a person types: a prompt with history, completion and several lines; plain lines from a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.patch_stdout import patch_stdout

from orca.interfaces.cli.chat_history import PrivateHistory
from orca.interfaces.cli.i18n import t
from orca.interfaces.cli.output import harmless, note

PROMPT = "› "
MORE = "· "

Offer = tuple[str, str]
"""A completion and what it means."""


class Reader(Protocol):
    """Where the next message comes from."""

    def read(self) -> str | None:
        """Return the next input, None at the end."""
        ...

    async def ask(self, question: str) -> str:
        """Return the answer to a question. Raises ``EOFError`` and ``KeyboardInterrupt``."""
        ...


class LineReader:
    """One message a line, from a pipe or a terminal that cannot move its cursor."""

    def read(self) -> str | None:
        """Return the next line, None at the end of the input."""
        if sys.stdin.isatty():
            sys.stderr.write(PROMPT)
            sys.stderr.flush()
        line = sys.stdin.readline()
        return line.rstrip("\r\n") if line else None

    async def ask(self, question: str) -> str:
        """Refuse: the next line of a pipe is no answer to a question that it does not know."""
        del question
        raise EOFError


class PromptReader:
    """A prompt at a terminal.

    ``offers`` gives what may stand in place of an argument: the command's name and what is typed of its argument go
    in, completions with their meanings come out; for an empty name, the commands themselves.
    """

    def __init__(self, history: Path, offers: Callable[[str, str], Iterable[Offer]]) -> None:
        self._session: PromptSession[str] = PromptSession(
            history=PrivateHistory(history),
            completer=_SlashCompleter(offers),
            complete_while_typing=True,
            multiline=True,
            key_bindings=_keys(),
            prompt_continuation=MORE,
            reserve_space_for_menu=6,
        )
        self._question: PromptSession[str] = PromptSession()

    def read(self) -> str | None:
        """Return what was typed. Ctrl-C clears the line, Ctrl-D on an empty one ends."""
        while True:
            try:
                with patch_stdout(raw=True):
                    return self._session.prompt(FormattedText([("bold ansicyan", PROMPT)]))
            except EOFError:
                return None
            except KeyboardInterrupt:
                if not self._session.default_buffer.text:
                    note(t("Ctrl-D or /quit leaves."))

    async def ask(self, question: str) -> str:
        """Return the answer to a question. Raises ``EOFError`` and ``KeyboardInterrupt``."""
        # The turn has a handler of its own for interruptions from outside; the key is handled either way.
        return await self._question.prompt_async(
            FormattedText([("bold", harmless(question))]), handle_sigint=False
        )


class _SlashCompleter(Completer):
    def __init__(self, offers: Callable[[str, str], Iterable[Offer]]) -> None:
        self._offers = offers

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield what may follow, when what is typed is a command."""
        del complete_event
        typed = document.text_before_cursor
        if not typed.startswith("/") or "\n" in typed:
            return
        name, blank, argument = typed.partition(" ")
        start = argument.lstrip() if blank else name
        for text, meaning in self._offers(name if blank else "", start):
            if text.startswith(start):
                yield Completion(text, start_position=-len(start), display_meta=harmless(meaning))


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _send(event: KeyPressEvent) -> None:
        if event.current_buffer.text.strip():
            event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys
