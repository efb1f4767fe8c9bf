"""Reading JSON Lines files of any origin, line by line: each line gives an object or a reason, never an exception."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from orca.text.json_lines import BOM, parse_line, parse_text

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Longer lines are reported and passed over, so that a file without line ends cannot fill the memory."""

_CHUNK_BYTES = 1024 * 1024
_BOMS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_WITHOUT_BOM = {b"{\x00": "utf-16-le", b"\x00{": "utf-16-be"}

INCOMPLETE = "the last line is incomplete; import the file again when it has been completed"


@dataclass(frozen=True, slots=True)
class Line:
    """A line: its number from 1, its object or the reason why there is none, and the bytes of the file read by then."""

    number: int
    record: dict[str, Any] | None
    reason: str | None
    end: int


def read_lines(path: Path) -> Iterator[Line]:
    """Yield the lines of a file but the blank ones. UTF-8 with or without a mark, and UTF-16, are understood.

    Lines end with LF or CRLF only, so other separators (U+2028) may stand inside texts. Raises ``OSError``.
    """
    with path.open("rb") as file:
        mark = file.read(len(BOM))
        encoding = _BOMS.get(mark[:2]) or _WITHOUT_BOM.get(mark[:2])
        file.seek(2 if mark[:2] in _BOMS else 0)
        yield from _utf8(file) if encoding is None else _utf16(file, encoding)


def _utf8(file: BinaryIO) -> Iterator[Line]:
    number = end = 0
    while raw := file.readline(MAX_LINE_BYTES):
        number += 1
        end += len(raw)
        whole = raw.endswith(b"\n")
        if not whole and len(raw) == MAX_LINE_BYTES:
            end += _skip_line(file)
            yield Line(number, None, f"the line is longer than {MAX_LINE_BYTES >> 20} MiB; split it up", end)
            continue
        try:
            record = parse_line(raw)
        except ValueError as error:
            yield Line(number, None, str(error) if whole else INCOMPLETE, end)
        else:
            if record is not None:
                yield Line(number, record, None, end)


def _skip_line(file: BinaryIO) -> int:
    skipped = 0
    while raw := file.readline(_CHUNK_BYTES):
        skipped += len(raw)
        if raw.endswith(b"\n"):
            break
    return skipped


def _utf16(file: BinaryIO, encoding: str) -> Iterator[Line]:
    decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
    rest = ""
    number = 0
    while chunk := file.read(_CHUNK_BYTES):
        *lines, rest = (rest + decoder.decode(chunk)).split("\n")
        for line in lines:
            number += 1
            yield from _text_line(number, line, file.tell(), whole=True)
        if len(rest) > MAX_LINE_BYTES:
            reason = f"the line is longer than {MAX_LINE_BYTES >> 20} MiB; split it up"
            yield Line(number + 1, None, reason, file.tell())
            return
    torn = bool(decoder.getstate()[0])  # half a character is left
    if torn:
        yield Line(number + 1, None, INCOMPLETE, file.tell())
    else:
        yield from _text_line(number + 1, rest, file.tell(), whole=False)


def _text_line(number: int, line: str, end: int, *, whole: bool) -> Iterator[Line]:
    text = line.strip("\x00 \t\r\n\ufeff")
    if not text:
        return
    try:
        yield Line(number, parse_text(text), None, end)
    except ValueError as error:
        yield Line(number, None, str(error) if whole else INCOMPLETE, end)
