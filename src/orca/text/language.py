"""Which script a text is written in: enough to tell Chinese, Japanese and Korean from the rest."""

from __future__ import annotations

import re

from orca.text.analysis import CJK

_LETTERS = re.compile(rf"([{CJK}])|([^\W\d_{CJK}]+)")


def cjk_share(text: str) -> float:
    """Return the share in [0, 1] of ``text`` that is Han, kana or hangul; 0 for a text without letters.

    A character of these counts as much as a word of any other script, since it carries about as much meaning.
    """
    cjk = words = 0
    for character, _ in _LETTERS.findall(text):
        if character:
            cjk += 1
        else:
            words += 1
    return cjk / (cjk + words) if cjk else 0.0
