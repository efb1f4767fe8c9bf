"""Replies that carry no topic: thanks, greetings, a go-ahead. Nothing should be recalled for them unasked."""

from __future__ import annotations

import re

from orca.text.normalize import fold

_PHRASES = """
thanks|thank you|thank you so much|thanks a lot|many thanks|thx|ok|okay|k|sure|yes|yeah|yep|no|nope|right|great|nice
cool|good|perfect|awesome|got it|i see|go on|go ahead|continue|please continue|next|hi|hello|hey|good morning|good night
bye|goodbye|see you|sorry|never mind|well done|sounds good|of course
谢谢|谢谢你|谢谢您|多谢|非常感谢|感谢|好|好的|好吧|好啊|嗯|嗯嗯|行|可以|没问题|是|是的|对|对的|不|不是|不用|不用了|不用谢|继续|请继续
接着说|下一个|你好|您好|嗨|早|早上好|晚上好|晚安|再见|拜拜|抱歉|对不起|没关系|没事|明白|明白了|知道了|懂了|收到|了解|太好了|太棒了|辛苦了
"""
_SMALL_TALK = frozenset(phrase for line in _PHRASES.split("\n") for phrase in line.split("|") if phrase)
_BREAK = re.compile(r"[^\w\s]+|\n+")


def is_small_talk(text: str) -> bool:
    """Whether every phrase of ``text``, as its punctuation divides it, is one that carries no topic."""
    phrases = [" ".join(phrase.split()) for phrase in _BREAK.split(fold(text).replace("'", ""))]
    spoken = [phrase for phrase in phrases if phrase]
    return bool(spoken) and all(phrase in _SMALL_TALK for phrase in spoken)
