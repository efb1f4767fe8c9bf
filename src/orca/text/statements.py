"""Splitting what somebody wrote into clauses that the writer asserts.

Code, quotations, pasted conversations, recalled memory and material handed over for translation or editing are
blanked out, keeping every position; questions and suppositions are marked. What is left is safe to be read as
the writer's own statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from orca.text.analysis import CJK
from orca.text.recalled import recalled_spans

Language = Literal["zh", "en"]

_CJK_CHARACTER = re.compile(f"[{CJK}]")
_WORD = re.compile(rf"[^\W_{CJK}]+(?:['’][^\W\d_{CJK}]+)*")


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of a sentence without commas inside, where it stands, and how far its writer vouches for it.

    ``sentence`` numbers the sentences of the text from 0; ``rest`` is the text from the clause to the end of its
    sentence; ``asserted`` is false inside questions and suppositions.
    """

    text: str
    start: int
    end: int
    sentence: int
    rest: str
    language: Language
    asserted: bool


def language_of(text: str) -> Language:
    """Return the language that most of a text is in: Chinese counts by characters, English by words."""
    characters = len(_CJK_CHARACTER.findall(text))
    return "zh" if characters and characters >= len(_WORD.findall(text)) * 0.8 else "en"


def length_units(text: str) -> int:
    """Return the length of a text in Chinese characters plus words of other scripts."""
    return len(_CJK_CHARACTER.findall(text)) + len(_WORD.findall(text))


_FENCE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_INLINE_CODE = re.compile(r"`([^`\n]*)`")
_QUOTED_LINE = re.compile(
    r"^[ \t]*(?:>|\||<[/!a-zA-Z]|[{}\[\]]|\$ |#!|at \w|File \"|Traceback ).*$", re.MULTILINE
)
_INDENTED_LINE = re.compile(r"^(?: {4,}|\t).*$", re.MULTILINE)
_URL = re.compile(r"(?:https?://|www\.)[^\s，。；）)\u4e00-\u9fff]+")
_QUOTATION = re.compile(
    r"“([^”]*)(?:”|\Z)|「([^」]*)(?:」|\Z)|『([^』]*)(?:』|\Z)|\"([^\"\n]*)\"|‘([^’]*)’|(?<!\w)'([^'\n]{3,})'(?!\w)"
)
_SPEAKER_LINE = re.compile(
    r"^[ \t]*(?:\[?\d{1,4}[-/:.\d \t]*\]?[ \t]*)?"
    r"(?P<label>[A-Za-z][\w .'-]{0,24}|[\w·]{1,8})(?:[ \t]*[(（][^)）\n]*[)）])?(?:(?<!\d)[:：]|[:：](?!\d))(?P<said>.*)$",  # "at 5:30" names no speaker,
    re.MULTILINE,
)
_OWN_LABELS = re.compile(
    r"^(?:我|me|myself|.*(?:记住|记得|备忘|备注|更正|补充|注意|说明|截止|时间|日期|deadline|ddl|due|决定|结论|名字|姓名|生日|邮箱|电话)|"
    r"(?:please )?(?:remember(?: this)?|note|nb|ps|p\.s\.|btw|fyi|update|correction|reminder|decision|decided|edit|"
    r"my .*|our .*|the .*|about me|info))$",
    re.IGNORECASE,
)
_HANDED_OVER = re.compile(
    r"(?:翻译|润色|改写|校对|纠正|改错|总结|概括|摘要|缩写|扩写|续写|解释|分析|朗读|造句|例句|仿写|看看|读一下|点评|转述|原文|全文|内容|如下|以下|下面|这段|这句|歌词|邮件|简历|作文|日记|台词|剧本|小说|故事|角色|扮演)"
    r"[^。！？!?\n：:]{0,20}[：:]"
    r"|\b(?:translate|proofread|rewrite|rephrase|paraphrase|polish|correct|fix|edit|summari[sz]e|explain|analy[sz]e|"
    r"classify|continue|review|improve|quote|quoting|lyrics|essay|email|letter|story|dialogue|poem|transcript|"
    r"following|text|sentence|paragraph|passage|excerpt|example|role-?play|act as|you are)\b[^.!?\n:：]{0,60}[:：]",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"我|咱|俺|\b(?:i|i'm|i’m|i've|my|we|our|me)\b", re.IGNORECASE)


def blank_foreign(text: str) -> str:
    """Return ``text`` of the same length with everything that is not the writer's own voice blanked out."""
    for start, end in recalled_spans(text):
        text = text[:start] + _blank(text[start:end]) + text[end:]
    for pattern in (_FENCE, _QUOTED_LINE):
        text = pattern.sub(_blanked, text)
    # Chinese paragraphs are often indented, code is not Chinese.
    text = _INDENTED_LINE.sub(_blanked_unless(_CJK_CHARACTER.search), text)
    if handed := _HANDED_OVER.search(text):
        text = text[: handed.start()] + _blank(text[handed.start() :])
    text = _URL.sub(_blanked, text)
    text = _INLINE_CODE.sub(_without_backticks, text)
    text = _SPEAKER_LINE.sub(_without_other_speakers, text)
    return _QUOTATION.sub(_blanked_unless(_is_short_name), text)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _blanked(match: re.Match[str]) -> str:
    return _blank(match.group())


def _blanked_unless(keep: Callable[[str], object]) -> Callable[[re.Match[str]], str]:
    return lambda match: match.group() if keep(match.group()) else _blank(match.group())


def _without_backticks(match: re.Match[str]) -> str:
    inside = match.group(1)
    return _blank(match.group()) if _FIRST_PERSON.search(inside) else f" {inside} "


def _without_other_speakers(match: re.Match[str]) -> str:
    own = _OWN_LABELS.match(match["label"].strip()) or match["said"].startswith("//")
    return match.group() if own else _blank(match.group())


def _is_short_name(quoted: str) -> bool:
    return not _FIRST_PERSON.search(quoted) and length_units(quoted) <= 12


_SENTENCE = re.compile(
    r"(?:[^。！？!?；;\n.]|\.(?!\s|$)|(?<=\b[A-Z])\.|(?<=\b(?:Mr|Ms|Dr|St|vs))\.|(?<=\b(?:Mrs|e\.g|i\.e|etc))\.)+[。！？!?；;.]*"
)
_CLAUSE_END = re.compile(
    rf"[，、](?=\s*(?:我|咱|但|不过|而且|并且|所以|因此|以前|现在|请|你))|，|,(?!\d)|:(?=\s)|：|(?<=[{CJK}])\s+(?=[{CJK}])"
    r"|(?<=\s)(?:[-–—]+|\()"
    r"|(?i:(?<=\s)(?:and|but|so|because|though|although|whereas|while)\s+(?=(?:i|i'm|i’m|i've|i’ve|we|we've|my|our)\b))"
)
_QUESTION_ZH = re.compile(
    r"吗|呢$|么$|是不是|有没有|能不能|会不会|要不要|可不可以|对不对|好不好|为什么|为何|怎么|怎样|如何|什么|哪|谁|几[点个天时号]|多少|多久|多大|多远|是否|还是说"
)
_QUESTION_EN = re.compile(
    r"^\W*(?:(?:and|so|but|or|then|well|ok|okay|hey|hi)\W+)*(?:what|where|when|who|whom|whose|which|why|how|do|does|did|is|are|am|was|were|can|"
    r"could|should|would|will|shall|have|has|any|may|might)(?:n't|n’t)?\b",
    re.IGNORECASE,
)
_TAG = re.compile(
    r"^\W*(?:对吗|是吗|对吧|是吧|没错吧|对不对|是不是|好像|不是吗|right|correct|yes|no|isn['’]t it|aren['’]t i|don['’]t i|do i|am i|ok|okay|huh|eh)\W*$",
    re.IGNORECASE,
)
_SUPPOSITION = re.compile(
    r"如果|(?<![主只重需想])要是|假如|假设|假使|倘若|万一|若是|除非|想象|要不是|假装|假扮|扮演|比方|比如|例如|的话|仿佛|好像|似乎|也许|可能|或许|大概|本来想|差点|幸好没"
    r"|\b(?:if|suppos(?:e|ing)|imagine|pretend|assum(?:e|ing)|unless|hypothetically|what if|as though|were i|role-?play|"
    r"for example|for instance|e\.g|maybe|perhaps|might|probably|i wish|let['’]s say|in a parallel)\b",
    re.IGNORECASE,
)


def clauses(text: str) -> Iterator[Clause]:
    """Yield the clauses of a text in order, blanked of foreign text; see ``Clause``."""
    own = blank_foreign(text)
    for number, sentence in enumerate(_SENTENCE.finditer(own)):
        if not sentence.group().strip():
            continue
        pieces = _split(own, sentence.start(), sentence.end())
        asserted = _asserted([own[start:end] for start, end in pieces], sentence.group())
        for (start, end), fine in zip(pieces, asserted, strict=True):
            piece = own[start:end]
            yield Clause(
                text=piece,
                start=start,
                end=end,
                sentence=number,
                rest=own[start : sentence.end()].strip(),
                language="zh" if _CJK_CHARACTER.search(piece) else "en",
                asserted=fine,
            )


def _split(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Cut a sentence at its commas and conjunctions; return the pieces' spans without surrounding blanks."""
    cuts = [(match.start() + start, match.end() + start) for match in _CLAUSE_END.finditer(text[start:end])]
    spans = []
    position = start
    for cut_start, cut_end in [*cuts, (end, end)]:
        piece = text[position:cut_start]
        trimmed = piece.strip(" \t\r\n。！？!?；;.,，、…~～")
        if trimmed:
            offset = position + piece.index(trimmed)
            spans.append((offset, offset + len(trimmed)))
        position = cut_end
    return spans


def _asserted(pieces: list[str], sentence: str) -> list[bool]:
    """Say of each clause whether it is asserted, given the sentence it stands in."""
    asks = sentence.rstrip(" \"'”」』)）").endswith(("?", "？"))
    questions = [bool(_QUESTION_ZH.search(piece) or _QUESTION_EN.match(piece)) for piece in pieces]
    if pieces and _TAG.match(pieces[-1]) and (asks or len(pieces) > 1):
        questions = [True] * len(pieces)
    elif (
        asks and pieces and not questions[-1]
    ):  # "I like tea, you think?": no telling how far back the question reaches
        questions = [True] * len(pieces)
    supposed = False
    result = []
    for piece, question in zip(pieces, questions, strict=True):
        supposed = supposed or bool(_SUPPOSITION.search(piece))
        result.append(not question and not supposed)
    return result
