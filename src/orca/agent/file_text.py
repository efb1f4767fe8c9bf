"""The text of files: which encoding they have, which line ends, and whether they are text at all."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from orca.errors import ToolError

SAMPLE = 8_192
"""Bytes in which a zero byte tells that a file is no text, as version control tools do."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True)
class FileText:
    """A file's text with its lines ended by newlines, and how the file writes them."""

    text: str = ""
    encoding: str = "utf-8"
    newline: str = "\n"

    def encoded(self, text: str) -> bytes:
        """Return ``text`` as this file writes it; in UTF-8 where its encoding lacks a character."""
        ended = text if self.newline == "\n" else text.replace("\r\n", "\n").replace("\n", self.newline)
        try:
            return ended.encode(self.encoding)
        except UnicodeEncodeError:
            return ended.encode("utf-8", "replace")


def decode(content: bytes) -> FileText | None:
    """Return the text, or None for bytes that are none.

    UTF-8 first; then GB 18030, which older Chinese files have; then Latin-1, which reads anything.
    """
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return _text(content, encoding)
    if b"\0" in content[:SAMPLE]:
        return None
    return next(
        found for name in ("utf-8", "gb18030", "latin-1") if (found := _text(content, name)) is not None
    )


def decoded(content: bytes, shown: str) -> FileText:
    """Return the text. Raises ``ToolError`` for a binary file."""
    text = decode(content)
    if text is None:
        raise ToolError(f"{shown!r} is a binary file of {len(content):,} bytes; only text can be used")
    return text


def _text(content: bytes, encoding: str) -> FileText | None:
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        return None
    crlf = text.count("\r\n")
    newline = "\r\n" if crlf and crlf * 2 > text.count("\n") else "\n"
    return FileText(text.replace("\r\n", "\n"), encoding, newline)
