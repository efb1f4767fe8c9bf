"""Help texts: plain, translated when they are shown, and wrapped by columns, of which a Chinese character takes two.

Typer's own renderers either import Rich's Markdown, which alone takes a third of the time that ``--help`` may
take, or count characters, which breaks lines of Chinese in the wrong place.
"""

from __future__ import annotations

import re
import shutil
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from typer.core import TyperCommand, TyperGroup

from orca.interfaces.cli.i18n import t

MAX_WIDTH = 100
_MIN_TEXT = 24
_PIECE = re.compile(
    r"\s+|[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]|[^\s\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]+"
)
_CLOSING = "，。；：、）」！？"


def columns(text: str) -> int:
    """Return how many terminal columns ``text`` takes."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def wrap(text: str, width: int) -> list[str]:
    """Break ``text`` into lines of at most ``width`` columns, between words or between Chinese characters."""
    lines, line = [], ""
    for piece in _PIECE.findall(text):
        blank = piece.isspace()
        fits = columns(line) + columns(piece) <= width or (piece in _CLOSING and line)
        if not fits and not blank:
            lines.append(line.rstrip())
            line = ""
        line += " " if blank and line else "" if blank else piece
    return [*lines, line.rstrip()] if line.strip() or not lines else lines


class OrcaCommand(TyperCommand):
    """A command whose help is Orca's."""

    def get_help(self, ctx: Any) -> str:
        """Return the help text in the language in use."""
        return _help(self, ctx)


class OrcaHelpGroup(TyperGroup):
    """A group of commands whose help is Orca's."""

    def get_help(self, ctx: Any) -> str:
        """Return the help text in the language in use."""
        return _help(self, ctx)


def _help(command: Any, ctx: Any) -> str:
    width = min(shutil.get_terminal_size((80, 24)).columns, MAX_WIDTH)
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    options = [param for param in command.get_params(ctx) if param.param_type_name == "option"]
    blocks = [t("Usage: {line}", line=usage(command, ctx.command_path))]
    paragraphs = (paragraph.replace("\n", " ") for paragraph in (command.help or "").split("\n\n"))
    blocks += ["\n".join(wrap(t(paragraph), width)) for paragraph in paragraphs if paragraph]
    blocks += _table(t("Arguments:"), ((argument_name(item), explain(item)) for item in arguments), width)
    if isinstance(command, TyperGroup):
        rows = ((name, summary(item)) for name, item in command.commands.items() if not item.hidden)
        blocks += _table(t("Commands:"), rows, width)
    own = [item for item in options if not is_common(item)]
    blocks += _table(t("Options:"), ((option_names(item), explain(item)) for item in own), width)
    common = [item for item in options if is_common(item)]
    blocks += _table(
        t("Options of every command, before or after its name:"),
        ((option_names(item), explain(item)) for item in common),
        width,
    )
    return "\n\n".join(blocks)


def usage(command: Any, path: str) -> str:
    """Return a command's usage line without its heading."""
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    pieces = [
        path,
        *(name if param.required else f"[{name}]" for param in arguments for name in [argument_name(param)]),
    ]
    return " ".join([*pieces, "[OPTIONS]", *(["COMMAND …"] if isinstance(command, TyperGroup) else [])])


def argument_name(param: Any) -> str:
    """Return an argument's name as usage lines write it."""
    name = str(param.metavar or param.name.upper())
    return f"{name}…" if param.nargs == -1 else name


def option_names(param: Any) -> str:
    """Return an option's spellings and what it takes."""
    names = ", ".join([*sorted(param.opts, key=len), *param.secondary_opts])
    return names if param.is_flag else f"{names} {param.metavar or 'TEXT'}"


def is_common(param: Any) -> bool:
    """Whether every command has this option."""
    return param.name in ("db", "user", "session", "as_json", "lang", "debug", "help")


def explain(param: Any) -> str:
    """Return an option's or argument's help in the language in use, with its default."""
    text = t(" ".join((param.help or "").split()))
    shown = param.default if isinstance(param.default, str | int | float) else None
    if shown is None or isinstance(shown, bool) or is_common(param):
        return text
    return t("{text} Default: {value}.", text=text, value=shown)


def summary(command: Any) -> str:
    """Return the first paragraph of a command's help in the language in use."""
    return t((command.help or "").split("\n\n")[0].replace("\n", " "))


def _table(heading: str, rows: Iterable[Sequence[str]], width: int) -> list[str]:
    rows = list(rows)
    if not rows:
        return []
    left = min(max(columns(name) for name, _ in rows), 30) + 4
    beside = width - left >= _MIN_TEXT
    lines = wrap(heading, width)
    for name, text in rows:
        indent = left if beside else 6
        body = wrap(text, max(width - indent, _MIN_TEXT))
        first = f"  {name}"
        if beside and columns(first) + 2 <= left:
            lines.append(first + " " * (left - columns(first)) + (body.pop(0) if body else ""))
        else:
            lines.append(first)
        lines += [" " * indent + line for line in body]
    return ["\n".join(line.rstrip() for line in lines)]
