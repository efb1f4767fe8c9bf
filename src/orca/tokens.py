"""Token counters: exact by tables that ship inside a package, or an estimate where that package is missing."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence

from orca.errors import ConfigError
from orca.protocols import TokenCounter
from orca.text.analysis import CJK
from orca.text.normalize import clean

try:
    import toktok
except ImportError:  # a platform without a wheel: the estimate serves, and its name says so
    toktok = None

ENCODINGS = ("cl100k_base", "o200k_base", "o200k_harmony", "qwen3.5")
"""Encodings whose tables are compiled into ``toktok``; nothing is ever downloaded."""

DEFAULT_ENCODING = "o200k_base"

TOKENS_PER_CJK_CHARACTER = 1.5
"""The seed's estimate. Current tokenizers need 0.5 to 0.7, so the estimate errs on the safe side."""

CHARACTERS_PER_TOKEN = 4
"""The usual rule of thumb for text with spaces between words."""

_CJK_CHARACTER = re.compile(f"[{CJK}]")
_loading = threading.Lock()


class ExactCounter:
    """Counts as the encoding's own tokenizer does; markers of special tokens are plain text.

    The table loads at the first count (about 0.6 s), once per process and encoding. Safe to share between
    threads. Raises ``ConfigError`` for an encoding it does not know or when ``toktok`` is not installed.
    """

    def __init__(self, encoding: str = DEFAULT_ENCODING) -> None:
        if encoding not in ENCODINGS:
            raise ConfigError(f"unknown token encoding {encoding!r}; known are {', '.join(ENCODINGS)}")
        if toktok is None:
            raise ConfigError("exact token counts need the package toktok-rs, which is not installed")
        self._encoding = encoding
        self._loaded = False

    @property
    def name(self) -> str:
        """The encoding's name."""
        return self._encoding

    def count(self, text: str) -> int:
        """Return the number of tokens in ``text``; a lone surrogate counts as its replacement character."""
        if not text:
            return 0
        return self.count_many([text])[0]

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens in each text; many at once take a tenth of the time that each alone takes."""
        if not texts:
            return []
        if not self._loaded:
            with _loading:  # two threads at once would each build the table
                toktok.batch_count([""], self._encoding, threads=1)
            self._loaded = True
        # One thread: a count takes microseconds, and waking a pool for it costs more than it saves.
        return list(map(int, toktok.batch_count(list(map(clean, texts)), self._encoding, threads=1)))


class EstimatedCounter:
    """Counts 1.5 tokens for a Chinese, Japanese or Korean character and a token for 4 others, rounded up."""

    @property
    def name(self) -> str:
        """``estimate``, so that status and ledger say that counts are not exact."""
        return "estimate"

    def count(self, text: str) -> int:
        """Return the estimated number of tokens; 0 only for an empty text."""
        cjk = len(_CJK_CHARACTER.findall(text))
        # Other non-ASCII text (Cyrillic, emoji) takes a token for one to two characters, not for four.
        ascii_length = len(text.encode("ascii", "ignore"))
        wide = len(text) - cjk - ascii_length
        tokens = cjk * TOKENS_PER_CJK_CHARACTER + wide + ascii_length / CHARACTERS_PER_TOKEN
        return -int(-tokens // 1)


def default_counter(encoding: str = DEFAULT_ENCODING) -> TokenCounter:
    """Return the exact counter, or the estimate where ``toktok`` is missing; ``name`` tells which it is.

    Raises ``ConfigError`` for an unknown encoding.
    """
    if toktok is None and encoding in ENCODINGS:
        return EstimatedCounter()
    return ExactCounter(encoding)
