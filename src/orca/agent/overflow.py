"""Telling from a provider's refusal that the prompt is longer than the model's window.

There is no common code for it. OpenAI says ``context_length_exceeded``, llama.cpp ``exceed_context_size_error``,
others name sizes in a sentence of any language, and some answer 413. What they all have in common are two
numbers: what the prompt came to, and a smaller limit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import openai

from orca.errors import ProviderError
from orca.provider_http import REFUSED

MIN_LIMIT = 256
"""Windows are larger than this; smaller numbers in an error are something else."""

NEAR = 2.0
"""A number within this factor of what was counted is taken for the prompt's size: tokenizers differ so much."""

_CODES = frozenset(
    {
        "context_length_exceeded",
        "exceed_context_size_error",
        "context_window_exceeded",
        "prompt_too_long",
        "string_above_max_length",
    }
)
_WORDS = re.compile(
    r"context[ _](?:length|window|size)|maximum context|prompt is too long|too many (?:input )?tokens|"
    r"input (?:is )?too long|max(?:imum)?[ _](?:seq|input|prompt)\w*[ _](?:len|tokens)|"
    r"上下文.{0,12}(?:超|长度)|(?:输入|提示).{0,12}(?:过长|太长|超长|超出|超过)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]{2,}(?![\w.]*\d)")


def is_overflow(error: ProviderError, *, prompt_tokens: int) -> bool:
    """Whether the provider refused the prompt for its length; ``prompt_tokens`` is what the caller counted."""
    cause = error.__cause__
    if not isinstance(cause, openai.APIError):
        return False
    if isinstance(cause, openai.APIStatusError) and cause.status_code not in REFUSED:
        return False
    body = cause.body if isinstance(cause.body, Mapping) else {}
    inner = body.get("error") if isinstance(body.get("error"), Mapping) else body
    marks = {str(inner.get(key, "")).casefold() for key in ("code", "type")} if inner else set()
    if marks & _CODES or (isinstance(cause, openai.APIStatusError) and cause.status_code == 413):
        return True
    said = f"{cause.message} {cause.body}"
    return bool(_WORDS.search(said)) or _names_sizes(said, prompt_tokens)


def _names_sizes(said: str, prompt_tokens: int) -> bool:
    """Whether a text names a size near the prompt's, and a smaller one that can be a window."""
    numbers = {int(match.replace(",", "")) for match in _NUMBER.findall(said)}
    near = {number for number in numbers if prompt_tokens / NEAR <= number <= prompt_tokens * NEAR}
    return any(MIN_LIMIT <= limit < size for size in near for limit in numbers)
