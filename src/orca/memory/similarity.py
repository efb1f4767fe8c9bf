"""When two memories say the same, and when one denies the other.

The seed's rule is that a text more than 0.8 similar to an old one updates it. Alone that rule merges "port 8080"
with "port 8081", so it acts only between texts that agree in everything that makes a difference: numbers with
their units, names, negation, tense, and the order of their content words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from orca.text.analysis import CJK, index_terms
from orca.text.normalize import clean, fold
from orca.text.numerals import in_digits

SIMILAR = 0.8
"""Two texts above this may be the same (the seed's threshold)."""

_TOKEN = re.compile(
    rf"(?:(?<!\w)[-−])?\d+(?:[.,:/-]\d+)*|[{CJK}]|[^\W\d_{CJK}]+(?:'[^\W\d_]+)?[+#]*|[^\w\s{CJK}]",
    re.IGNORECASE,
)
# Punctuation that never changes what is said; every other sign (currency, plus, percent, emoji) is a word of its own.
_PUNCTUATION = re.compile(
    r"^[.,;:!?'\"()\[\]{}<>«»“”‘’„…·•。，、；：！？（）【】《》〈〉「」『』～~`_*\\|—–-]$"
)
_LIGHT = frozenset(
    """a an the is are am be been being to of that and very really also so just currently now in at it its do does
    user user's by the 的 了 很 非 常 特 别 是 就 也 都 啊 吧 呢 呀 哦 啦 着 现 在 目 前 真 挺 比 较 超 十 分 其 实 那 这 个""".split()
)
_NEGATIONS = frozenset(
    """not no never none nor nothing without cannot can't don't doesn't didn't isn't aren't wasn't weren't won't
    wouldn't shouldn't couldn't haven't hasn't hadn't longer neither stopped quit unlike 不 没 无 非 别 未 勿 莫 否 戒""".split()
)
_NO_LONGER = re.compile(r"\bno longer\b|\bnot any (?:longer|more)\b")  # two words, one denial
_TURNING = frozenset(
    """was were had did will would could might may should must used former formerly previously before after only
    except until if unless almost he she they his her their hardly rarely seldom barely scarcely nearly refuse refuses avoid avoids
    double triple twice first second third last next other another temporarily want wants hope hopes plan plans try tries fail fails
    pretend pretends ex am pm and or 和 跟 与 及 或 曾 过 前 后 将 会 想 仅 只 除 若 如 他 她 您 你 以 少 几 半 假 拒 避 第 倍 次 上 下 早 晚 午 可""".split()
)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What of a text is compared: tokens in order, and the parts that admit no difference."""

    tokens: tuple[str, ...]
    content: tuple[str, ...]
    negations: tuple[str, ...]
    quantities: tuple[tuple[str, str], ...]
    stemmed_names: frozenset[str]
    terms: Counter[str]


@lru_cache(maxsize=8192)
def _read(text: str) -> _Reading:
    plain = in_digits(fold(text).replace("’", "'").replace("一直", ""))
    tokens = tuple(t for t in _TOKEN.findall(plain) if not _PUNCTUATION.match(t))
    # "非常" is a degree, "非" alone denies; the same for "特别" and "别".
    spoken = _NO_LONGER.sub("not", fold(text).replace("非常", "很").replace("特别", "很"))
    negations = tuple(
        token
        for token in _TOKEN.findall(spoken.replace("’", "'"))
        if token in _NEGATIONS or token.endswith("n't")
    )
    quantities = tuple(
        (token, tokens[i + 1] if i + 1 < len(tokens) else "")
        for i, token in enumerate(tokens)
        if token[-1].isdigit()
    )
    words = re.findall(rf"[^\W\d_{CJK}]+", clean(text))
    names = frozenset(_stem(fold(word)) for word in words[1:] if not word.islower())
    content = tuple(_stem(t) for t in tokens if t not in _LIGHT or t in _NEGATIONS)
    return _Reading(tokens, content, negations, quantities, names, Counter(index_terms(text)))


def _stem(token: str) -> str:
    """Return a word's stem; negations and words with signs ("C++") stay as they are."""
    plain = token.isalpha() and token not in _NEGATIONS and token not in _TURNING
    return " ".join(index_terms(token)) if plain else token


def fingerprint(text: str) -> str:
    """Return what equal texts have in common: form, width, case, blanks and punctuation do not count."""
    return " ".join(_read(text).tokens)


def similarity(a: str, b: str) -> float:
    """Return how much of their index terms two texts share: Dice's coefficient over multisets, in [0, 1].

    Source: L. R. Dice, "Measures of the Amount of Ecologic Association Between Species", Ecology 26 (1945).
    """
    first, second = _read(a), _read(b)
    if first.tokens == second.tokens:
        return 1.0
    total = first.terms.total() + second.terms.total()
    return 2 * (first.terms & second.terms).total() / total if total else 0.0


def same_statement(a: str, b: str) -> bool:
    """Whether two texts say the same, so that the second is a repeat of the first (or adds a detail to it)."""
    first, second = _read(a), _read(b)
    if first.tokens == second.tokens:
        return bool(first.tokens)
    if (first.negations, first.quantities) != (second.negations, second.quantities):
        return False
    shorter, longer = sorted((first, second), key=lambda reading: len(reading.content))
    extra = _extra(shorter.content, longer.content)
    if extra is None or not shorter.content:
        return False  # each has a word that the other lacks: one of them may be a name, a place, an opposite
    if not extra:
        return True
    if any(token in _TURNING or token in longer.stemmed_names or not token.isalpha() for token in extra):
        return False
    return similarity(a, b) > SIMILAR


def _extra(shorter: Sequence[str], longer: Sequence[str]) -> list[str] | None:
    """Return what ``longer`` has beyond ``shorter``, or None when ``shorter`` is not contained in order."""
    extra = []
    position = 0
    for token in longer:
        if position < len(shorter) and token == shorter[position]:
            position += 1
        else:
            extra.append(token)
    return extra if position == len(shorter) else None


def adds_detail(new: str, old: str) -> bool:
    """Whether a repeat says more than the text it repeats, so that the longer text should be kept."""
    return len(_read(new).content) > len(_read(old).content)


def denies(a: str, b: str) -> bool:
    """Whether two texts differ in nothing but a negation ("吃肉" and "不吃肉", "has" and "has not")."""
    first, second = _read(a), _read(b)
    if bool(len(first.negations) % 2) == bool(len(second.negations) % 2):
        return False
    return _bare(first) == _bare(second) and bool(_bare(first))


_ENDINGS = re.compile(r"(?:es|s)$")


def _bare(reading: _Reading) -> tuple[str, ...]:
    """Return the content without negation and without what negation does to a verb ("eats" → "does not eat")."""
    light = {
        "再",
        "能",
        "can",
        "any",
        "more",
        "anymore",
        "太",
        "怎",
        "么",
        "have",
        "has",
        "does",
        "do",
        "did",
    }
    return tuple(
        _ENDINGS.sub("", token)
        for token in reading.content
        if token not in _NEGATIONS and not token.endswith("n't") and token not in light
    )


def differs_in_one_place(a: str, b: str) -> bool:
    """Whether two texts are one sentence with at most one thing put in place of another, besides what is added.

    "The port is 8080" and "The port is 8081" are; "the staging port is 8080" and "the production port is 8081" are
    not: two differences at once are two things rather than a thing that changed. Places are the replaced blocks of
    ``difflib.SequenceMatcher`` over content words.
    """
    first, second = _read(a).content, _read(b).content
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    return sum(tag == "replace" for tag, *_ in blocks) <= 1


def numbers_in(text: str) -> frozenset[str]:
    """Return the numbers in a text as they are written, by their digits: "2026-05-20" gives three."""
    return frozenset(number.lstrip("0") or "0" for number in re.findall(r"\d+", fold(text)))
