"""A turn in one line without a model: its most telling clauses, in the conversation's language."""

from __future__ import annotations

import re
from collections.abc import Sequence

from orca.llms.rules.en_words import third_person, third_singular
from orca.text.analysis import query_terms
from orca.text.irregular import BASE_FORMS
from orca.text.parts import plain_text
from orca.text.recalled import strip_recalled
from orca.text.small_talk import is_small_talk
from orca.text.statements import Language, language_of, length_units
from orca.types import Message

MAX_UNITS: dict[Language, int] = {"zh": 50, "en": 35}
"""Longest summary: Chinese characters (the seed's 50) or words of other scripts."""

_ASKED: dict[Language, tuple[str, str]] = {
    "zh": ("用户问：", "答："),
    "en": ("The user asked: ", " Answer: "),
}
_REPLY: dict[Language, str] = {"zh": "助手：", "en": " Assistant: "}
_USER_SHARE = 0.6  # the user's words carry what is asked and decided, the reply mostly elaborates

_ROOM_TO_RETELL = 3
"""Words by which a note may grow when "I" becomes "the user"."""

_NOD_CHARACTERS = 4
"""A Chinese sentence of the user of so few characters, without number, question or decision, is a nod."""

_SAID_BEFORE = 0.5
"""A sentence of the reply with this share of its words or more in what is noted already only repeats it."""

_CODE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_MARKUP = re.compile(r"^[ \t]*(?:#{1,6}|[-*+•]|\d{1,2}[.)、])[ \t]+|\*\*|__|`", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[。！？!?；])\s*|(?<=[.;])\s+|\n+")
_CLAUSE_END = re.compile(r"(?<=[，；：、])\s*|(?<=[,;])\s+")
_EMPTY_TALK = re.compile(
    r"^(?:你好|您好|大家好|嗨|哈喽|在吗|在不在|谢谢|多谢|感谢|非常感谢|不客气|好的?|好呀|好吧|行|可以|嗯+|哦+|哈+|明白了?|收到|知道了|没问题|当然(?:可以)?|"
    r"很高兴(?:为你服务|认识你|能?帮到你)?|希望(?:这)?(?:对你)?有(?:所)?帮助|如果(?:你)?(?:还)?有(?:其他|任何).*|请问(?:还)?有什么.*|有什么(?:我)?(?:可以|能).*|还有(?:什么|其他).*吗|随时.*(?:告诉我|找我|问我)|再见|晚安|早上好|"
    r"(?:谢谢|感谢|多谢)(?:你|您|大家).{0,14}|.{0,16}(?:我也?很(?:高兴|开心|荣幸)|是我的荣幸)|祝(?:你|您|贺|大家)?.{0,12}|恭喜.{0,8}|辛苦(?:你|您)?了|希望(?:它|他|她|你|您|一切).{0,14}|欢迎(?:回来|你).{0,6}|"
    r"(?:不错|好主意|太好了|太棒了|真好|很好|完美|同意|果然|对|没错|好消息).{0,2}|(?:已经?)?(?:记住|记下|收到|明白|了解|知道)了?|(?:听起来)?(?:很|真|太)(?:不错|好|棒|清楚)了?|下次见|回头见|明天见|我回来了|"
    r"see you(?: \w+){0,3}(?:,? and good night.*)?|(?:talk|speak|catch you|until|till)(?: to you)?(?: later| soon| tomorrow|(?: next| on)? \w+day)|have a (?:\w+ ){0,3}(?:day|night|evening|weekend|trip|time|one)|safe travels|"
    r"(?:i am|i['’]m|so|very) (?:glad|happy|pleased|delighted).*|congrat\w*.*|take care.*|enjoy.{0,25}|(?:hello|hi|hey|hi there),? \w+|(?:i['’]m )?sorry to hear.*|i will|will do|noted|agreed|exactly|perfect|happy to|sounds (?:good|great|fine)|good (?:idea|decision|choice|point|luck)|"
    r"my pleasure|anytime|no worries|that['’]s (?:great|good|awesome|wonderful|amazing).{0,20}|welcome back.{0,20}|(?:it(?:['’]s| was) )?nice (?:to|meeting|talking|chatting).*|thanks? (?:you )?for .*|"
    r"hi|hello|hey(?: there)?|good (?:morning|evening|afternoon|night)|thanks?(?: you)?(?: so much| a lot| very much)?|thx|ok(?:ay)?|sure(?: thing)?|great|cool|nice|"
    r"got it|understood|no problem|of course|certainly|absolutely|you(?:'|’)re welcome|welcome|glad (?:i could|to) help|happy to help|"
    r"(?:great|good) question|i hope this helps|let me know if.*|feel free to.*|is there anything else.*|how can i (?:help|assist).*|bye|goodbye)[\s,，。.!！~～?？…]*$",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"^(?:(?:你好|您好|嗨|谢谢你?|好的?|嗯+|当然可以|当然|没问题|对了|对|另外|还有|收到|明白了?|记住了|记下了|果然|不错|同意|好主意|早上好|其实|"
    r"hi|hello|hey|thanks|thank you|sure|okay|ok|great|of course|certainly|well|agreed|yes|right|noted|understood|exactly|perfect|got it|also|so|"
    r"by the way|btw|one more thing|good (?:idea|decision|choice))(?:[,，。!！.、:：]+\s*|\s+(?=\w+[,!]\s)))+|^(?:另外|还有)(?=我|把|请)|^(?:and|also) (?=\w)",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"决定|改成|改为|选择|采用|确定|记住|记得|截止|不要|必须|喜欢|讨厌|过敏|因为|所以|原因|\b(?:decid|agree|switch|remember|deadline|due|must|prefer|like|hate|allerg|because|caused|fix(?:ed)?|use)\w*",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Z][a-z]+|[A-Za-z]+[A-Z\d]\w*|[A-Z]{2,}|《[^》]+》|“[^”]+”")
_FIRST_PERSON = re.compile(r"我|\b(?:I|my|we|our)\b")
_QUESTION_END = re.compile(r"[?？][\s\"'”’)）]*$")


def summarize_turn(messages: Sequence[Message]) -> str:
    """Return a note on a turn in one or two sentences, of at most 50 Chinese characters or 35 words; '' for small talk.

    Only what user and assistant said counts: no tool output, system text, code or recalled memory. Of the user
    the sentences with numbers, names and decisions stay; a question stays word for word with its answer, a
    statement is told of "the user". Of the reply stays what the note does not say yet.
    """
    said = _sentences([m for m in messages if m.role == "user"])
    replied = _sentences([m for m in messages if m.role == "assistant"])
    if not said and not any(_TELLING.search(sentence[1:]) for sentence in replied):
        return ""
    language = language_of("".join(said or replied))
    asks = bool(said) and bool(_QUESTION_END.search(said[-1]))
    informative = [sentence for sentence in replied if not _QUESTION_END.search(sentence)]
    limit = MAX_UNITS[language]
    opening, answer = _ASKED[language] if asks else ("", _REPLY[language])
    limit -= length_units(opening + answer) + _ROOM_TO_RETELL
    note = _best(said, int(limit * _USER_SHARE) if informative else limit, asks=asks)
    fresh = [sentence for sentence in informative if asks or _adds(sentence, note)]
    if not fresh:
        return _closed(
            f"{opening}{_of_user(_best(said, limit, asks=asks), language, verbatim=asks)}", language
        )
    reply = _best(fresh, limit - length_units(note))
    if not note:
        return _closed(_of_assistant(reply, language), language)
    first = _closed(f"{opening}{_of_user(note, language, verbatim=asks)}", language)
    return _fitting(
        first, _closed(f"{answer}{_of_assistant(reply, language)}", language), MAX_UNITS[language]
    )


def _fitting(first: str, second: str, limit: int) -> str:
    """Return both parts, or the first alone where turning them into a note made them too long."""
    return f"{first}{second}" if length_units(first + second) <= limit else first


def _adds(sentence: str, note: str) -> bool:
    """Whether a sentence of the reply says something that the note does not."""
    terms, known = set(query_terms(sentence)), set(query_terms(note))
    new_numbers = set(re.findall(r"\d+", sentence)) - set(re.findall(r"\d+", note))
    weighty = bool(new_numbers) or bool(_WEIGHTY.search(sentence))
    return bool(terms) and weighty and len(terms & known) < len(terms) * _SAID_BEFORE


_TELLING = re.compile(rf"\d|{_DECISION.pattern}|(?-i:{_NAME.pattern})", re.IGNORECASE)
_WEIGHTY = re.compile(rf"\d|{_DECISION.pattern}|{_NAME.pattern}|[^\s]{{8}}", re.IGNORECASE)


def _of_user(text: str, language: Language, *, verbatim: bool) -> str:
    """Return what the user said as said of them; a question stays as it was asked."""
    if verbatim:
        return text
    if language == "zh":
        told = re.sub(r"我们|咱们", "用户这边", text).replace("我", "用户")
        return re.sub(r"(?<!迷)[你您](?!好)们?", "助手", told)
    return _told(text)


def _of_assistant(text: str, language: Language) -> str:
    """Return what the assistant said with "you" as the user."""
    if language == "zh":
        return re.sub(r"你们?|您", "用户", re.sub(r"我们|咱们", "双方", text)).replace("我", "助手")
    text = re.sub(r"\b[Yy]our\b", "the user's", text.replace("’", "'"))
    return re.sub(r"\b[Yy]ou(?:'re| are)\b", "the user is", re.sub(r"\b[Yy]ou've\b", "the user has", text))


_PAST_OR_MODAL = re.compile(
    r"^(?:can|could|will|would|shall|should|may|might|must|never|also|just|still|really|always|usually|already|finally|actually|only|no|now|\w+ed|\w+n't)$|^\w+ly$",
    re.IGNORECASE,
)


_SPEAKER = re.compile(r"\b(?P<i>I(?:'m|'ve|'d|'ll)?|My|my|We(?:'re|'ve|'ll)?)\b(?P<rest>.*)$", re.DOTALL)
_TOLD = {
    "I'm": "the user is", "I've": "the user has", "I'd": "the user would", "I'll": "the user will", "My": "the user's", "my": "the user's",
    "I": "the user", "We": "the user's side", "We're": "the user's side is", "We've": "the user's side has", "We'll": "the user's side will",
}  # fmt: skip


def _told(text: str) -> str:
    """Return English sentences in the first person as told of the user; what is "I" again later becomes "they"."""
    sentences = []
    for sentence in re.split(r"(?<=[.!?])\s+", text.replace("’", "'")):
        match = _SPEAKER.search(sentence)
        if match is None:
            sentences.append(re.sub(r"\bme\b", "the user", sentence))
            continue
        rest = match["rest"].strip()
        if match["i"] in ("I", "We") and rest:
            lead, verb = _ADVERBS_FIRST.match(rest), rest
            if lead is not None:
                verb = rest[lead.end() :]
            if verb and _takes_ending(verb.split(" ", 1)[0]):
                rest = rest[: len(rest) - len(verb)] + third_singular(verb)
        told = f"{sentence[: match.start()]}{_TOLD[match['i']]} {third_person(rest)}".rstrip()
        sentences.append(told[:1].upper() + told[1:])
    return " ".join(sentences)


_ADVERBS_FIRST = re.compile(
    r"(?:(?:no longer|also|still|always|usually|never|now|only|really|often|currently|just|actually|already|finally|sometimes) )*",
    re.IGNORECASE,
)


def _takes_ending(verb: str) -> bool:
    """Whether a verb after "I" has another form after "the user": not modals and forms of the past."""
    low = verb.lower().strip(".,!?")
    if low in ("don't", "am", "have", "do"):
        return True
    return not _PAST_OR_MODAL.match(low) and BASE_FORMS.get(low, low) == low


def _closed(text: str, language: Language) -> str:
    """Return a text that ends as a sentence does, with one mark."""
    trimmed = re.sub(r"[\s，,；;：:、—–-]+$", "", text)
    trimmed = re.sub(r"[。.]+(?=[！!？?])|(?<=[。！？!?])[。.]+$", "", trimmed)
    if not trimmed or trimmed[-1] in "。！？!?.…":
        return trimmed
    return trimmed + ("。" if language == "zh" else ".")


def _sentences(messages: Sequence[Message]) -> list[str]:
    sentences = []
    for message in messages:
        text = _MARKUP.sub("", _CODE.sub(" ", strip_recalled(plain_text(message.content))))
        for piece in _SENTENCE_END.split(text):
            sentence = _OPENING.sub("", re.sub(r"\s+", " ", piece).strip())
            if len(sentence) < len(piece.strip()):  # without its opening word
                sentence = sentence[:1].upper() + sentence[1:]
            if message.role == "user" and _nods(sentence):
                continue
            if length_units(sentence) and not _EMPTY_TALK.match(sentence) and not is_small_talk(sentence):
                sentences.append(sentence)
    return sentences


def _nods(sentence: str) -> bool:
    """Whether a sentence is no more than a nod: "就去那里" points at something and names nothing."""
    short = length_units(sentence) <= _NOD_CHARACTERS and language_of(sentence) == "zh"
    return short and not re.search(r"\d|[?？A-Za-z我]", sentence) and not _DECISION.search(sentence)


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


def _best(sentences: Sequence[str], limit: int, *, asks: bool = False) -> str:
    """Return the most telling sentences that fit into ``limit`` units, in their order.

    Where none fits, whole clauses of the most telling one; only an endless clause is cut, and says so with "…".
    With ``asks`` the last sentence, the question, stays before all others.
    """
    if asks and (last := sentences[-1]) and length_units(last) > limit:
        return _end_of(last, limit)
    asked = len(sentences) - 1 if asks else -1
    ranked = sorted(range(len(sentences)), key=lambda i: (i != asked, -_weight(sentences[i], i), i))[:8]
    chosen: list[int] = []
    left = limit
    for index in ranked:
        units = length_units(sentences[index])
        if units <= left and len(chosen) < 2:
            chosen.append(index)
            left -= units
    if chosen:
        joint = " " if _spaced(sentences) else ""
        return joint.join(sentences[i] for i in sorted(chosen))
    return _cut(sentences[ranked[0]], limit) if ranked else ""


def _spaced(sentences: Sequence[str]) -> bool:
    return language_of("".join(sentences)) == "en"


def _end_of(question: str, limit: int) -> str:
    """Return the last whole clauses of a long question: what is asked stands at its end."""
    kept: list[str] = []
    for clause in reversed(_CLAUSE_END.split(question)):
        if length_units("".join((clause, *kept))) > limit:
            break
        kept.insert(0, clause)
    return (" " if language_of(question) == "en" else "").join(kept) or _cut(question, limit)


def _cut(sentence: str, limit: int) -> str:
    """Return as many whole clauses of a sentence as fit; where the first is too long, its whole words and "…"."""
    kept = ""
    for clause in _CLAUSE_END.split(sentence):
        if length_units(kept + clause) > limit:
            break
        kept += clause if not kept or language_of(sentence) == "zh" else f" {clause}"
    if kept:
        return kept.rstrip("，,；;：:、 ")
    words = re.findall(r"\s*(?:[\w'’.-]*[^\W\u4e00-\u9fff][\w'’.:/-]*|.)", sentence)
    kept = ""
    for word in words:
        if length_units(kept + word) > limit or len(kept + word) > limit * 12:
            break
        kept += word
    kept = kept or sentence[: limit * 4]  # one endless word
    return kept.rstrip("，,；;：: ") + "…"
