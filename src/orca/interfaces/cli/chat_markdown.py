"""A reply as it comes, drawn as Markdown that never jumps: what is complete stands, only the last block is redrawn."""

from __future__ import annotations

import re
from typing import ClassVar

from markdown_it import MarkdownIt
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement, Paragraph
from rich.segment import Segment
from rich.text import Text

from orca.interfaces.cli.output import harmless

# HTML in a reply is text like any other: Rich would leave it out without a word.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")

_WIDE = r"\u2e80-\u303e\u3040-\u9fff\uac00-\ud7af\uf900-\ufaff\uff01-\uff60"
_OPENING = "（「『《〈【“‘"
_CLOSING = "，。；：、）」』！？》〉】…—”’"
_UNIT = re.compile(rf"[{_OPENING}]*(?:[{_WIDE}]|[^\s{_WIDE}]+)[{_CLOSING}]*\s*|\s+")
"""What stays on one line: a word or a Chinese character, with the marks that must not part from it."""


class StreamedMarkdown:
    """Takes a reply in pieces of any length and tells which of its blocks are complete."""

    def __init__(self) -> None:
        self.tail = ""
        """The block that still grows."""

    def feed(self, piece: str) -> str:
        """Take a piece; return the Markdown of the blocks that it completed, empty when there are none."""
        self.tail += piece
        if "\n" not in piece:  # only a line's end can end a block
            return ""
        lines = self.tail.splitlines(keepends=True)
        begin = _last_block(self.tail)
        complete, self.tail = "".join(lines[:begin]), "".join(lines[begin:])
        return complete

    def rest(self) -> str:
        """Return what is left, and start again."""
        left, self.tail = self.tail, ""
        return left


def _last_block(text: str) -> int:
    """Return the line in which the last block of ``text`` begins."""
    begins = [token.map[0] for token in _PARSER.parse(text) if token.map and not token.level]
    return begins[-1] if begins else 0


def markdown(text: str) -> RenderableType:
    """Return a reply's Markdown to print: no commands to the terminal, no blanks at the ends of lines."""
    return Trimmed(_Reply(harmless(text)))


class Trimmed:
    """Draws something without blanks at the ends of its lines, which would wrap when a terminal gets narrower."""

    def __init__(self, drawn: RenderableType, *, last: int | None = None) -> None:
        """Draw all lines, or the ``last`` ones."""
        self._drawn = drawn
        self._last = last

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines."""
        lines = [
            _trimmed(line)
            for line in console.render_lines(self._drawn, options.update(height=None), pad=False)
        ]
        while lines and not lines[-1]:
            lines.pop()
        while lines and not lines[0]:
            lines.pop(0)
        for line in lines if self._last is None else lines[-self._last :]:
            yield from line
            yield Segment.line()


def _trimmed(line: list[Segment]) -> list[Segment]:
    line = list(line)
    while line:
        text, style, _ = line[-1]
        if style is not None and (style.bgcolor or style.underline or style.reverse):
            break
        line[-1] = Segment(text.rstrip(), style)
        if line[-1].text:
            break
        line.pop()
    return line


class _WrappedParagraph(Paragraph):
    """A paragraph that may be broken between any two Chinese characters, not only between words."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self.text.split("\n", allow_blank=True):
            for part in line.divide(breaks(line.plain, options.max_width)):
                part.rstrip()
                part.no_wrap = True
                part.overflow = "fold"
                yield part


class _LeftHeading(Heading):
    """A heading that begins where the text begins."""

    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = dict.fromkeys(Heading.LEVEL_ALIGN, "left")


class _Reply(Markdown):
    """Rich's Markdown for replies: lines stay lines, Chinese wraps, links show where they lead."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "paragraph_open": _WrappedParagraph,
        "heading_open": _LeftHeading,
    }

    def __init__(self, markup: str) -> None:
        super().__init__("", code_theme="ansi_dark", hyperlinks=False)
        self.markup = markup
        self.parsed = _PARSER.parse(markup)
        for token in self.parsed:
            for child in token.children or ():
                if child.type == "softbreak":  # a poem, an address: who writes lines in a chat means lines
                    child.type = "hardbreak"


def breaks(text: str, width: int) -> list[int]:
    """Return where to break ``text`` so that no line takes more than ``width`` columns."""
    found: list[int] = []
    used = 0
    for match in _UNIT.finditer(text):
        unit = match[0]
        needed = cell_len(unit.rstrip())
        if used and used + needed > width:
            found.append(match.start())
            used = 0
        if needed <= width:
            used += cell_len(unit)
            continue
        for index, char in enumerate(unit, start=match.start()):  # a word longer than a line
            size = cell_len(char)
            if used + size > width and not char.isspace():
                found.append(index)
                used = 0
            used += size
    return found


def one_line(text: str, limit: int) -> str:
    """Return text on one line of at most ``limit`` columns, an ellipsis where it was cut."""
    shown = Text(" ".join(harmless(text).split()))
    shown.truncate(max(limit, 1), overflow="ellipsis")
    return shown.plain
