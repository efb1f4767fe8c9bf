"""The command line's two languages: English stands in the code, Chinese in the catalogue, keyed by the English."""

from __future__ import annotations

from typing import Any

from orca.config import Language
from orca.interfaces.cli import catalogue_chat, catalogue_help, catalogue_messages
from orca.interfaces.reasons import in_chinese

CHINESE = {**catalogue_help.CHINESE, **catalogue_messages.CHINESE, **catalogue_chat.CHINESE}
"""Every translation, keyed by the English."""


class _Speaker:
    """Holds the language of this process; the command line sets it once, before anything is said."""

    language: Language = "en"


def use(language: Language) -> None:
    """Speak this language from now on."""
    _Speaker.language = language


def current() -> Language:
    """Return the language in use."""
    return _Speaker.language


def t(text: str, /, **values: Any) -> str:
    """Return ``text`` in the language in use, its ``{names}`` filled in. A text without translation stays English."""
    said = CHINESE.get(text, text) if _Speaker.language == "zh" else text
    return said.format(**values) if values else said


def why(reason: str) -> str:
    """Return a reason that the memory gives, in the language in use."""
    return in_chinese(reason) if _Speaker.language == "zh" else reason


def usage_error(text: str) -> str:
    """Return what the argument parser says about wrong use, its phrases in the language in use."""
    if _Speaker.language == "zh":
        for english, chinese in catalogue_messages.USAGE.items():
            text = text.replace(english, chinese)
    return text
