"""The Web's two languages: English stands in templates and code, Chinese in the catalogue, keyed by the English."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request

from orca.config import Language
from orca.interfaces.reasons import in_chinese
from orca.interfaces.web.catalogue import CHINESE

LANGUAGE_COOKIE = "orca_lang"
LANGUAGES: tuple[Language, ...] = ("zh", "en")

Translate = Callable[..., str]
"""``t(text, **values)``: the text in one language, its ``{names}`` filled in."""


def language_of(request: Request, default: Language = "en") -> Language:
    """Return the language to answer in: ``?lang=``, else the cookie, else ``Accept-Language``, else the default."""
    for wanted in (request.query_params.get("lang"), request.cookies.get(LANGUAGE_COOKIE)):
        for language in LANGUAGES:
            if wanted == language:
                return language
    return accepted_language(request.headers.get("accept-language", "")) or default


def accepted_language(header: str) -> Language | None:
    """Return the first of our languages by an ``Accept-Language`` header's weights (RFC 9110, section 12.5.4)."""
    ranges = []
    for position, part in enumerate(header.split(",")):
        name, _, weight = part.partition(";")
        try:
            quality = float(weight.partition("=")[2]) if weight else 1.0
        except ValueError:
            continue
        primary = name.strip().lower().partition("-")[0]
        ranges.append((-quality, position, primary))
    for quality, _, primary in sorted(ranges):
        if quality < 0 and primary in ("zh", "en"):
            return "zh" if primary == "zh" else "en"
    return None


def reasons(language: Language) -> Callable[[str], str]:
    """Return a function that says in one language why something is as it is; the memory says it in English."""
    return in_chinese if language == "zh" else str


def translator(language: Language) -> Translate:
    """Return ``t`` for one language. A text without translation stays English; a test finds it."""

    def t(text: str, /, **values: Any) -> str:
        said = CHINESE.get(text, text) if language == "zh" else text
        return said.format(**values) if values else said

    return t
