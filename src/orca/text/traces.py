"""Looking for text in bytes: whether something that was deleted is still in a file."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

PIECE = 24
"""Characters to a piece: short enough to lie within one database page, long enough to be nobody else's by chance."""

MIN_PIECE_BYTES = 12
"""Shorter texts ("ok", "好的") occur in files for other reasons and prove nothing."""

BLOCK_BYTES = 1 << 22
"""How much of a file is read at a time."""


MAX_NESTING = 8
"""How deep JSON within JSON is followed: tool calls hold arguments that hold text."""


def pieces_of(texts: Iterable[str]) -> set[bytes]:
    """Return the pieces that texts are looked for by: as UTF-8, as UTF-16 in both orders, and as JSON escapes them.

    Of a text that is JSON, the strings inside are looked for by themselves too, since elsewhere they stand alone.
    """
    found = set()
    for whole in texts:
        for text in {whole, *_strings(whole, MAX_NESTING)}:
            for start in range(0, len(text), PIECE):
                piece = text[start : start + PIECE]
                if len(piece.encode("utf-8", "replace")) >= MIN_PIECE_BYTES:
                    found |= _shapes(piece)
    return found


def _shapes(piece: str) -> set[bytes]:
    """Return a piece in the encodings that files hold text in."""
    shapes = {piece.encode(encoding, "replace") for encoding in ("utf-8", "utf-16-le", "utf-16-be")}
    if not piece.isascii():
        shapes.add(json.dumps(piece)[1:-1].encode())
    return shapes


def _strings(text: str, depth: int) -> Iterator[str]:
    """Yield the strings inside a text that is JSON, nothing for other text."""
    if depth == 0 or not text.lstrip().startswith(("{", "[")):
        return
    try:
        waiting = [json.loads(text)]
    except (ValueError, RecursionError):
        return  # it only looked like JSON
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str):
            yield value
            yield from _strings(value, depth - 1)


def found_in(path: Path, pieces: Collection[bytes]) -> set[bytes]:
    """Return the pieces that a file holds; none for a file that is not there."""
    left = set(pieces)
    found: set[bytes] = set()
    for block in _blocks(path, overlap=max(map(len, pieces), default=0)):
        here = {piece for piece in left if piece in block}
        found |= here
        left -= here
    return found


def _blocks(path: Path, overlap: int) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            tail = b""
            while block := file.read(BLOCK_BYTES):
                yield tail + block
                tail = block[-overlap:] if overlap else b""
    except FileNotFoundError:
        return
