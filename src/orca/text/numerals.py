"""Numbers in words as digits, so that "两百" and "200", "three" and "3" are one number and "三十" is not "三"."""

from __future__ import annotations

import re

_DIGITS = {digit: number for number, digit in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_UNITS = {"十": 10, "百": 100, "千": 1_000}
_GREAT = {"万": 10_000, "亿": 100_000_000}
_ZH = re.compile(r"[零〇一二两三四五六七八九十百千万亿]+|半(?=[个只年天月小点斤杯])")
# Words in which 一 counts nothing.
_NO_COUNT = re.compile(
    r"一(?:直|起|些|样|般|定|下|点儿?|边|共|向|旦|切)|(?<![零一二两三四五六七八九十百千])万一|(?:唯|统|同)一|千万别|(?<![一二两三四五六七八九])十分"
)

_EN_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
).split()
_EN = {word: number for number, word in enumerate(_EN_ONES)} | {
    word: 10 * number
    for number, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)
}
_EN_GREAT = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_EN_WORD = "|".join(sorted((*_EN, *_EN_GREAT), key=len, reverse=True))
_EN_NUMBER = re.compile(rf"\b(?:{_EN_WORD})(?:(?:[ -]| and )(?:{_EN_WORD}))*\b|\bhalf\b", re.IGNORECASE)


def in_digits(text: str) -> str:
    """Return a text with the numbers that it spells in Chinese or English written in digits.

    Meant for comparing texts, not for showing them: "三明治" becomes "3明治" in every text alike.
    """
    kept: list[str] = []

    def keep(match: re.Match[str]) -> str:
        kept.append(match.group())
        return f"\x00{len(kept) - 1}\x00"

    text = _NO_COUNT.sub(keep, text)
    text = _ZH.sub(lambda match: f" {_chinese(match.group())} ", text)
    text = _EN_NUMBER.sub(lambda match: _english(match.group().lower()), text)
    return re.sub(r"\x00(\d+)\x00", lambda match: kept[int(match[1])], text)


def _chinese(word: str) -> str:
    if word == "半":
        return "0.5"
    if not set(word) & (_UNITS.keys() | _GREAT.keys()):
        return "".join(str(_DIGITS[digit]) for digit in word)  # "二零二六" is read digit by digit
    total = section = number = 0
    last = 1
    for sign in word:
        if sign in _DIGITS:
            number = _DIGITS[sign]
            last = 10 if number == 0 else last
        elif sign in _UNITS:
            last = _UNITS[sign]
            section += (number or 1) * last
            number = 0
        else:
            last = _GREAT[sign]
            total = (total + section + number) * last or last
            section = number = 0
    # "四千二" is 4200: a digit at the end counts a tenth of the unit before, unless 零 stands between.
    return str(total + section + number * max(1, last // 10))


def _english(words: str) -> str:
    if words == "half":
        return "0.5"
    total = number = 0
    for word in re.split(r"[ -]+", words):
        if word in _EN:
            number += _EN[word]
        elif word == "hundred":
            number = (number or 1) * 100
        elif word in _EN_GREAT:
            total += (number or 1) * _EN_GREAT[word]
            number = 0
    return str(total + number)
