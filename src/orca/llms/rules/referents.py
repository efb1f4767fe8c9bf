"""Whom "she", "他" or "它" means, where what was said shortly before leaves exactly one choice."""

from __future__ import annotations

import re
from collections.abc import Sequence

from orca.llms.rules.en_words import RELATIVE as EN_RELATIVE
from orca.llms.rules.zh_words import RELATIVE as ZH_RELATIVE

_FEMALE = frozenset(
    """老婆 媳妇 妻子 太太 女朋友 女友 未婚妻 女儿 大女儿 小女儿 妈妈 母亲 老妈 妈 姐姐 妹妹 姐 妹 奶奶 外婆 姥姥 阿姨 姑姑 表姐 表妹 堂姐 堂妹 侄女 外甥女 岳母 婆婆 闺蜜
    wife girlfriend fiancée fiancee daughter mother mom mum sister grandmother grandma aunt niece mother-in-law landlady granddaughter goddaughter ex-wife""".split()
)
_MALE = frozenset(
    """老公 丈夫 先生 男朋友 男友 未婚夫 儿子 大儿子 小儿子 爸爸 父亲 老爸 爸 哥哥 弟弟 哥 弟 爷爷 外公 姥爷 叔叔 舅舅 表哥 表弟 堂哥 堂弟 侄子 外甥 岳父 公公
    husband boyfriend fiancé fiance son father dad brother grandfather grandpa uncle nephew father-in-law landlord grandson godson ex-husband""".split()
)
_ANIMALS = frozenset(
    """猫 狗 猫咪 小猫 小狗 狗狗 宠物 兔子 仓鼠 鹦鹉 乌龟 cat dog puppy kitten pet rabbit hamster parrot turtle horse""".split()
)
_MANY = re.compile(
    r"^(?:爸妈|父母|parents|children|kids|twins|sons|daughters|brothers|sisters|cats|dogs)$", re.IGNORECASE
)

_ZH_MENTION = re.compile(
    rf"我(?:的|们?家的?|家里的?)?(?P<w>{ZH_RELATIVE})|(?:有|养了?)[一两\d]?[只条个位]?(?P<x>{ZH_RELATIVE})"
)
_EN_MENTION = re.compile(
    rf"\bmy (?P<w>{EN_RELATIVE})\b(?!'s (?:friend|boss|brother|sister))|\b(?:have|adopted|got) (?:an?|one) (?:[\w-]+ )?(?P<x>{EN_RELATIVE})\b",
    re.IGNORECASE,
)
_EN_PERSON = re.compile(
    r"(?:^|[.!?,] )(?P<w>(?!It|This|That|There|What|Who|Everyone|Everything|Here|He|She|My|The|And|But|So)[A-Z][a-z]{2,14})(?= (?:lives|moved|works|is|was|has|does|wants|loves|likes|hates|gets|says|said|told)\b)"
)
_ZH_PRONOUN = re.compile(r"^(?P<p>[她他它])(?!们|人)(?P<rest>.+)$")
_EN_PRONOUN = re.compile(
    r"^(?P<lead>(?:and|but|so|also|because|oh|btw|by the way),? )?(?P<p>he|she)(?P<rest>'s | .+|'s .+)$",
    re.IGNORECASE,
)


class Referents:
    """Remembers who was mentioned, in the words of the speaker ("我妹妹", "my sister")."""

    def __init__(self, earlier: Sequence[str] = ()) -> None:
        """``earlier`` are the speaker's messages before this one, oldest first."""
        self._known: dict[str, frozenset[str]] = {}
        for text in earlier:
            self.hear(text)

    def hear(self, text: str) -> None:
        """Take in the people and animals that a text mentions."""
        for match in _ZH_MENTION.finditer(text):
            self._meet(match["w"] or match["x"], "我", {"她": _FEMALE, "他": _MALE, "它": _ANIMALS})
        for match in _EN_MENTION.finditer(text):
            self._meet((match["w"] or match["x"]).lower(), "my ", {"she": _FEMALE, "he": _MALE})
        for match in _EN_PERSON.finditer(text):
            self._known[match["w"]] = frozenset(("she", "he"))

    def _meet(self, noun: str, owner: str, pronouns: dict[str, frozenset[str]]) -> None:
        if _MANY.match(noun):
            return
        last = noun.rsplit(maxsplit=1)[-1]
        fitting = frozenset(pronoun for pronoun, nouns in pronouns.items() if last in nouns)
        people = frozenset(("她", "他", "she", "he")) & frozenset(pronouns)
        self._known[f"{owner}{noun}"] = fitting or people

    def resolve(self, clause: str) -> str:
        """Return a clause with its leading pronoun replaced where only one of those mentioned can be meant."""
        plain = clause.replace("’", "'")
        match = _ZH_PRONOUN.match(plain) or _EN_PRONOUN.match(plain)
        if match is None:
            return clause
        pronoun = match["p"].lower()
        meant = [who for who, pronouns in self._known.items() if pronoun in pronouns]
        if len(meant) != 1:
            return clause
        rest = match["rest"]
        return f"{meant[0]}{' is' + rest[2:] if rest.startswith(chr(39) + 's ') else rest}"
