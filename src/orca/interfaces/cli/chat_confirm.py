"""Asking the person in front whether a tool may do what it is about to do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from orca.agent.tools import Confirmation
from orca.interfaces.cli.chat_markdown import one_line
from orca.interfaces.cli.chat_terminal import forget_typed
from orca.interfaces.cli.chat_view import View
from orca.interfaces.cli.i18n import t
from orca.interfaces.cli.output import harmless, note

SHOWN_LINES = 400
"""Lines of one argument that are shown; what is beyond is counted. The file tools' changes are never longer."""

YES, ALWAYS = ("y", "yes", "是"), ("a", "always", "总是")

Ask = Callable[[str], Awaitable[str]]


class Confirmer:
    """Answers ``LLMAgent``'s questions by asking a person, one question at a time.

    Made with nobody to ask, it refuses everything. Each turn calls ``begin``.
    """

    def __init__(self, ask: Ask | None) -> None:
        self._ask = ask
        self._allowed: set[tuple[str, str]] = set()
        self._lock = asyncio.Lock()
        self._view: View | None = None
        self._stop: Callable[[], object] = lambda: None

    def begin(self, view: View, stop: Callable[[], object]) -> None:
        """Ask on ``view`` from now on; ``stop`` ends the turn when Ctrl-C is the answer."""
        self._view, self._stop, self._lock = view, stop, asyncio.Lock()

    async def __call__(self, confirmation: Confirmation) -> bool:
        """Ask about a call; an answer for always counts for that tool of that agent while the chat lasts."""
        if self._ask is None or self._view is None:
            note(t("{tool} was refused: nobody is there to allow it", tool=one_line(confirmation.tool, 64)))
            return False
        kind = (confirmation.agent, confirmation.tool)
        async with self._lock:
            if kind in self._allowed:
                return True
            with self._view.asking() as console:
                show(console, confirmation)
                answer = await self._answer(self._ask)
        if answer in ALWAYS:
            self._allowed.add(kind)
        return answer in (*YES, *ALWAYS)

    async def _answer(self, ask: Ask) -> str:
        forget_typed()
        try:
            said = await ask(t("Allow it? y yes, n no, a always in this chat: "))
        except EOFError:
            return ""
        except KeyboardInterrupt:
            self._stop()
            return ""
        return said.strip().lower()


def show(console: Console, confirmation: Confirmation) -> None:
    """Print what a tool wants to do; a change of a file as the difference that it makes."""
    who = one_line(confirmation.agent.rpartition("/")[2], 40)
    title = t("{agent} wants to use {tool}", agent=who, tool=one_line(confirmation.tool, 64))
    console.print(Text(title, style="bold yellow"))
    for line in _lines(confirmation.arguments):
        console.print(line, soft_wrap=True)


def _lines(arguments: Mapping[str, Any]) -> list[Text]:
    shown: list[Text] = []
    for name, value in arguments.items():
        text = harmless(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        lines = text.splitlines()
        if len(lines) < 2:
            shown.append(Text(f"  {harmless(name)}: {text}"))
            continue
        shown.append(Text(f"  {harmless(name)}:"))
        shown += [Text(f"    {line}", style=_style(line, name)) for line in lines[:SHOWN_LINES]]
        if len(lines) > SHOWN_LINES:
            more = t("… and {n} more lines", n=len(lines) - SHOWN_LINES)
            shown.append(Text(f"    {more}", style="yellow"))
    return shown


def _style(line: str, argument: str) -> str:
    if argument != "change":
        return ""
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim")
