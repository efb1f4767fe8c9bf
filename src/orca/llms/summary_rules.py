"""A turn in one line without a model: its most telling clauses, in the conversation's language."""

from __future__ import annotations

import re
from collections.abc import Sequence

from orca.text.parts import plain_text
from orca.text.recalled import strip_recalled
from orca.text.small_talk import is_small_talk
from orca.text.statements import Language, language_of, length_units
from orca.types import Message

MAX_UNITS: dict[Language, int] = {"zh": 50, "en": 35}
"""Longest summary: Chinese characters (the seed's 50) or words of other scripts."""

_LABELS: dict[Language, tuple[str, str, str]] = {
    "zh": ("用户：", "助手：", "；"),
    "en": ("User: ", "Assistant: ", " "),
}
_USER_SHARE = 0.6  # the user's words carry what is asked and decided, the reply mostly elaborates

_CODE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_MARKUP = re.compile(r"^[ \t]*(?:#{1,6}|[-*+•]|\d{1,2}[.)、])[ \t]+|\*\*|__|`", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[。！？!?；])\s*|(?<=[.;])\s+|\n+")
_CLAUSE_END = re.compile(r"(?<=[，,；;：])\s*")
_EMPTY_TALK = re.compile(
    r"^(?:你好|您好|大家好|嗨|哈喽|在吗|在不在|谢谢|多谢|感谢|非常感谢|不客气|好的?|好呀|好吧|行|可以|嗯+|哦+|哈+|明白了?|收到|知道了|没问题|当然(?:可以)?|"
    r"很高兴(?:为你服务|认识你|能?帮到你)?|希望(?:这)?(?:对你)?有(?:所)?帮助|如果(?:你)?(?:还)?有(?:其他|任何).*|请问(?:还)?有什么.*|有什么(?:我)?(?:可以|能).*|还有(?:什么|其他).*吗|随时.*(?:告诉我|找我|问我)|再见|晚安|早上好|"
    r"hi|hello|hey(?: there)?|good (?:morning|evening|afternoon|night)|thanks?(?: you)?(?: so much| a lot| very much)?|thx|ok(?:ay)?|sure(?: thing)?|great|cool|nice|"
    r"got it|understood|no problem|of course|certainly|absolutely|you(?:'|’)re welcome|welcome|glad (?:i could|to) help|happy to help|"
    r"(?:great|good) question|i hope this helps|let me know if.*|feel free to.*|is there anything else.*|how can i (?:help|assist).*|bye|goodbye)[\s,，。.!！~～?？…]*$",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"^(?:(?:你好|您好|嗨|谢谢|好的|嗯|当然可以|当然|没问题|hi|hello|hey|thanks|thank you|sure|okay|ok|great|of course|certainly|well)[,，。!！.\s]+)+",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"决定|改成|改为|选择|采用|确定|记住|记得|截止|不要|必须|喜欢|讨厌|过敏|因为|所以|原因|\b(?:decid|agree|switch|remember|deadline|due|must|prefer|like|hate|allerg|because|caused|fix(?:ed)?|use)\w*",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Z][a-z]+|[A-Za-z]+[A-Z\d]\w*|[A-Z]{2,}|《[^》]+》|“[^”]+”")
_FIRST_PERSON = re.compile(r"我|\b(?:I|my|we|our)\b")


def summarize_turn(messages: Sequence[Message]) -> str:
    """Return one or two sentences on a turn, of at most 50 Chinese characters or 35 words; '' without content.

    Only what user and assistant said counts: no tool output, system text, code or recalled memory. Whole
    clauses with numbers, names and decisions are kept before others; greetings are left out.
    """
    said = _sentences([m for m in messages if m.role == "user"])
    replied = _sentences([m for m in messages if m.role == "assistant"])
    if not said and not replied:
        return ""
    language = language_of("".join(said or replied))
    user_label, assistant_label, joint = _LABELS[language]
    limit = MAX_UNITS[language] - length_units(user_label + assistant_label)
    share = int(limit * _USER_SHARE) if replied else limit
    user_part = _best(said, share)
    assistant_part = _best(replied, limit - length_units(user_part))
    if not assistant_part:
        user_part = _best(said, limit)
    parts = [f"{user_label}{user_part}"] if user_part else []
    if assistant_part:
        parts.append(f"{assistant_label}{assistant_part}")
    return joint.join(parts)


def _sentences(messages: Sequence[Message]) -> list[str]:
    sentences = []
    for message in messages:
        text = _MARKUP.sub("", _CODE.sub(" ", strip_recalled(plain_text(message.content))))
        for piece in _SENTENCE_END.split(text):
            sentence = _OPENING.sub("", re.sub(r"\s+", " ", piece).strip())
            if length_units(sentence) and not _EMPTY_TALK.match(sentence) and not is_small_talk(sentence):
                sentences.append(sentence)
    return sentences


def _weight(sentence: str, place: int) -> float:
    """Return how telling a sentence is: numbers, names and decisions count, and so does coming first."""
    return (
        1.0 * bool(re.search(r"\d", sentence))
        + 0.6 * min(len(_NAME.findall(sentence[1:])), 3)
        + 1.2 * bool(_DECISION.search(sentence))
        + 0.6 * bool(_FIRST_PERSON.search(sentence))
        + 0.3 * bool(re.search(r"[?？]$", sentence))
        + 1.0 / (1 + place)
    )


def _best(sentences: Sequence[str], limit: int) -> str:
    """Return the most telling sentences that fit into ``limit`` units, in their order; a cut one if none fits."""
    ranked = sorted(range(len(sentences)), key=lambda i: (-_weight(sentences[i], i), i))[:8]
    chosen: list[int] = []
    left = limit
    for index in ranked:
        units = length_units(sentences[index])
        if units <= left and len(chosen) < 2:
            chosen.append(index)
            left -= units
    if chosen:
        return (
            " ".join(sentences[i] for i in sorted(chosen))
            if _spaced(sentences)
            else "".join(sentences[i] for i in sorted(chosen))
        )
    return _cut(sentences[ranked[0]], limit) if ranked else ""


def _spaced(sentences: Sequence[str]) -> bool:
    return language_of("".join(sentences)) == "en"


def _cut(sentence: str, limit: int) -> str:
    """Return as many whole clauses of a sentence as fit, else as many whole words, marked with "…"."""
    kept = ""
    for clause in _CLAUSE_END.split(sentence):
        if length_units(kept + clause) > limit:
            break
        kept += clause if not kept or language_of(sentence) == "zh" else f" {clause}"
    if length_units(kept) >= limit * 0.4:
        return kept.rstrip("，,；;：: ") + "…"
    words = re.findall(r"\s*(?:[\w'’.-]*[^\W\u4e00-\u9fff][\w'’.:/-]*|.)", sentence)
    kept = ""
    for word in words:
        if length_units(kept + word) > limit or len(kept + word) > limit * 12:
            break
        kept += word
    kept = kept or sentence[: limit * 4]  # one endless word
    return kept.rstrip("，,；;：: ") + "…"
