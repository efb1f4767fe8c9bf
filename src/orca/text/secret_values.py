"""Whether a value that stands where a secret would stand is one, or a word, a placeholder or a piece of code."""

from __future__ import annotations

import math
import re
from collections import Counter

MIN_RANDOM_BITS = 3.0
"""Shannon entropy in bits per character from which on a long run looks drawn by lot.

Random base 62 of 20 characters has about 4.0, random hex 3.4, "sk-my-own-class-name" style words below 3.6 with
hyphens and no digits. The check is joined with one on digits or an unbroken run, since words alone reach 3.5.
"""

UNBROKEN = 32
"""Characters without a separator that no word has: SiliconFlow's keys are 48 lower-case letters without a digit."""

MIN_TOKEN = 8
"""Shortest value of a field such as ``api_key`` that counts; shorter ones are examples and enumerations."""

TOKEN_BITS = 2.5
"""Entropy from which on such a value counts: "aaaa1111" has 1.0, "abc12345" 3.0."""

MIN_WORD = 6
"""Shortest plain word that is taken for a password."""

_PLACEHOLDER = re.compile(
    r"^(?:[<\[{$%*•.…]|x{3,}|your|my[_-]|example|changeme|redacted|null$|none$|nil$|true$|false$|undefined$|str\b|string\b)",
    re.IGNORECASE,
)
_CODE = re.compile(r"^[A-Za-z_][\w.]*(?:\(.*|\[.*)$|^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$|^/|^\w+://")
_COUNTED = re.compile(r"^[年月日位个号点分秒次天条字组种级行]")
_TRAILING = ".,;:)]}>!?\"'"


def entropy(text: str) -> float:
    """Return the Shannon entropy of a text's characters, in bits per character; 0 for an empty one."""
    counts = Counter(text)
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values())


def is_random(text: str) -> bool:
    """Whether a run looks drawn by lot: enough entropy, and digits beside letters or no separator for long."""
    if entropy(text) < MIN_RANDOM_BITS:
        return False
    longest = max(len(run) for run in re.split(r"[-_.]", text))
    return longest >= UNBROKEN or (longest >= 8 and bool(re.search(r"\d", text)))


def is_token(value: str) -> bool:
    """Whether the value of a field such as ``api_key`` is one: no placeholder, no code, digits among letters."""
    text = value.rstrip(_TRAILING)
    if len(text) < MIN_TOKEN or _PLACEHOLDER.match(text) or _CODE.match(text) or " " in text:
        return False
    mixed = re.search(r"\d", text) and re.search(r"[A-Za-z]", text)
    return entropy(text) >= TOKEN_BITS and bool(mixed or is_random(text))


def is_password(label: str, match: re.Match[str]) -> bool:
    """Whether what follows ``label``, such as "password", is one; ``match`` is the value with its groups.

    People choose words, so entropy says little here. A value counts when it mixes letters with digits or signs,
    when it is a number of four digits or more that counts nothing, and as a plain word only where it is quoted or
    written like a setting (``PASSWORD=opensesame``): "the password is wrong" and ``password=password`` are none.
    """
    quoted, bare = match["quoted"], match["bare"] or ""
    value = quoted or bare.rstrip(_TRAILING)
    if len(value) < 4 or _PLACEHOLDER.match(value) or value.casefold() == label.casefold():
        return False
    if quoted and " " in value:
        return False
    if value.isdigit():
        return not _COUNTED.match(match.string[match.end("secret") :].lstrip())
    if _CODE.match(value) or not re.search(r"\w", value):
        return False
    if re.search(r"\d", value) and re.search(r"[^\d]", value):
        return not re.match(r"^\d+[-–.:]\d+$|^\d+[a-z]{1,12}$|^v?\d+(?:\.\d+)+$", value)
    if re.search(r"[^\w.,/'-]", value):
        return True
    if len(value) < MIN_WORD:
        return False
    # A bare word before a comma or a bracket is a variable in a call.
    like_setting = match.groupdict().get("is") == "=" and "_" not in value and not bare.endswith((",", ")"))
    return bool(quoted) or like_setting
