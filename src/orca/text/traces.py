"""Looking for text in bytes: whether something that was deleted is still in a file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

PIECE = 24
"""Characters to a piece: short enough to lie within one database page, long enough to be nobody else's by chance."""

MIN_PIECE_BYTES = 12
"""Shorter texts ("ok", "好的") occur in files for other reasons and prove nothing."""

BLOCK_BYTES = 1 << 22
"""How much of a file is read at a time."""


def pieces_of(texts: Iterable[str]) -> set[bytes]:
    """Return the pieces that texts are looked for by, as UTF-8."""
    found = set()
    for text in texts:
        for start in range(0, len(text), PIECE):
            piece = text[start : start + PIECE].encode("utf-8", "replace")
            if len(piece) >= MIN_PIECE_BYTES:
                found.add(piece)
    return found


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
