"""The marks around recalled memory in a prompt, and how text that carries them is made safe again.

Recalled memory is quoted data. Its writer escapes what it quotes, so that no stored text can close the block;
its readers (indexing, summaries, fact extraction) take every block out, so that memory never feeds itself.
"""

from __future__ import annotations

import re

OPEN = "<recalled_memory>"
"""Opens a block of recalled memory."""

CLOSE = "</recalled_memory>"
"""Closes it."""

# Tolerant on purpose: models and users copy blocks with other case, blanks or attributes.
_MARK = re.compile(r"<\s*(/?)\s*recalled_memory\b[^<>]*>", re.IGNORECASE)
_CUT_OPEN = re.compile(r"<\s*recalled_\w*[^<>]*$", re.IGNORECASE)


# Bidirectional controls, "tag" letters, zero-width and other format characters, and control characters: unseen by
# people, read by models. The joiner of emoji (U+200D) stays where it joins symbols.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    r"\ufff9-\ufffb\U000e0000-\U000e007f]|(?<=[a-z0-9_<\uff1c])\u200d",
    re.IGNORECASE,
)
# Our marks in other letters: full-width and angle-bracket look-alikes of "<", full-width letters.
_LOOKALIKE = re.compile(
    r"[\uff1c\u2039\u3008\u27e8\ufe64\u300a\u2329](?=\s*[/\uff0f]?\s*[r\uff52\uff32][e\uff45\uff25][c\uff43\uff23])",
    re.IGNORECASE,
)


def disarm(text: str) -> str:
    """Return ``text`` without characters that nobody sees, and with look-alikes of a mark's bracket as "("."""
    return _LOOKALIKE.sub("(", _UNSEEN.sub("", text))


def escape(text: str) -> str:
    """Return ``text`` with ``&``, ``<`` and ``>`` as entities, so that it cannot open or close any block."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def recalled_spans(text: str) -> list[tuple[int, int]]:
    """Return where the blocks stand, as ``(start, end)`` in order, without overlaps.

    A block that was never closed reaches to the end of the text; a closing mark without an opening one means
    that the beginning was cut off, so everything before it belongs to a block. Nested blocks count as one.
    """
    spans: list[tuple[int, int]] = []
    depth = 0
    start = 0
    for mark in _MARK.finditer(text):
        if not mark.group(1):
            if depth == 0:
                start = mark.start()
            depth += 1
        elif depth > 0:
            depth -= 1
            if depth == 0:
                spans.append((start, mark.end()))
        else:
            spans = [(0, mark.end())]
    if depth > 0:
        spans.append((start, len(text)))
    elif cut := _CUT_OPEN.search(text):
        spans.append((cut.start(), len(text)))
    return spans


def strip_recalled(text: str) -> str:
    """Return ``text`` without its blocks of recalled memory: nested, cut off at either end or whole."""
    spans = recalled_spans(text)
    if not spans:
        return text
    kept = []
    position = 0
    for start, end in spans:
        kept.append(text[position:start])
        position = end
    kept.append(text[position:])
    return "\n".join(piece.strip() for piece in kept if piece.strip())
