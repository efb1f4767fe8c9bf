"""Which script a text is written in: enough to tell Chinese, Japanese and Korean from the rest."""

from __future__ import annotations

import re

from orca.text.analysis import CJK

_CJK_LETTER = re.compile(rf"[{CJK}]")
_WORD = re.compile(rf"[^\W\d_{CJK}]+")


def cjk_share(text: str) -> float:
    """Return the share in [0, 1] of ``text`` that is Han, kana or hangul; 0 for a text without letters.

    A character of these counts as much as a word of any other script, since it carries about as much meaning.
    """
    if text.isascii():
        return 0.0
    cjk, words = len(_CJK_LETTER.findall(text)), len(_WORD.findall(text))
    return cjk / (cjk + words) if cjk else 0.0
