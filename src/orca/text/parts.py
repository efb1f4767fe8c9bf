"""Message content of any shape as plain text, and which messages are worth a vector."""

from __future__ import annotations

import re
from collections.abc import Mapping

from orca.types import Content, Message

MIN_EMBEDDED_CHARACTERS = 10
"""Messages of at most this many characters get no vector (seed: skip those shorter than 10)."""

_DATA_URI = re.compile(r"data:[\w.+-]+/[\w.+-]+(?:;[\w=.+-]+)*;base64,[A-Za-z0-9+/=_-]+")
MIN_BASE64_CHARACTERS = 512
"""Runs of so many characters of base64 are no words."""

_BASE64_RUN = re.compile(rf"[A-Za-z0-9+/_-]{{{MIN_BASE64_CHARACTERS},}}={{0,2}}")


def plain_text(content: Content) -> str:
    """Return the words of a content: text parts joined by newlines, media and base64 left out."""
    if content is None:
        return ""
    if isinstance(content, str):
        return strip_media(content)
    texts = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            text = part.get("text")
            if isinstance(text, Mapping):  # the Assistants API nests it as {"text": {"value": …}}
                text = text.get("value")
            if isinstance(text, str):
                texts.append(text)
    return strip_media("\n".join(texts))


def strip_media(text: str) -> str:
    """Return ``text`` with data URIs and long base64 runs replaced by a short mark."""
    if len(text) < 64:  # no data URI worth cutting fits
        return text
    if "data:" in text:
        text = _DATA_URI.sub("[media]", text)
    return text if len(text) < MIN_BASE64_CHARACTERS else _BASE64_RUN.sub("[base64]", text)


def indexed_text(message: Message) -> str:
    """Return what is indexed and embedded of a message: who speaks, when that is known, and the words."""
    text = plain_text(message.content)
    return f"{message.name}: {text}" if message.name and text else text


def is_embeddable(message: Message) -> bool:
    """Whether a message gets a vector: said by the user, or a complete reply, and long enough."""
    if message.role not in ("user", "assistant") or message.tool_calls:
        return False
    return len(plain_text(message.content).strip()) > MIN_EMBEDDED_CHARACTERS
