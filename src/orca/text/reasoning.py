"""A model's thinking, told apart from its reply when both come in one text."""

from __future__ import annotations

import re

_THINKING = re.compile(r"\s*<(think|thinking)>(.*?)(?:</\1>|\Z)", re.DOTALL)
# Where the chat template has opened the block already, the reply begins inside it. A closing mark on a line of
# its own tells this from a reply that merely speaks about the mark.
_OPENED_BEFORE = re.compile(r"(.*?)^[ \t]*</(?:think|thinking)>[ \t]*$", re.DOTALL | re.MULTILINE)


def split_reasoning(text: str) -> tuple[str, str | None]:
    """Return the reply and the thinking of ``text``; thinking is None where there is none.

    Only leading ``<think>`` blocks are taken out: a later one is part of what the model says. A block that was
    never closed, because the reply was cut, is thinking to its end.
    """
    thoughts = []
    rest = text
    while match := _THINKING.match(rest):
        thoughts.append(match[2].strip())
        rest = rest[match.end() :]
    if not thoughts and "<think" not in text and (opened := _OPENED_BEFORE.match(text)):
        thoughts.append(opened[1].strip())
        rest = text[opened.end() :]
    if not thoughts:
        return text, None
    return rest.strip(), "\n\n".join(filter(None, thoughts)) or None
