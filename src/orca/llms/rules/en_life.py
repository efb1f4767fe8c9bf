"""Facts in English statements beyond the speaker's person: health, habits, other people, plans of work.

They are tried after the rules of ``en``; the first that applies wins.
"""

from __future__ import annotations

import re

from orca.llms.rules.base import LOOSE_CONFIDENCE, Finding, Rule, drinking_slot, event_slot, key
from orca.llms.rules.en_words import (
    AFTERWARDS,
    DIET,
    NOT_A_THING,
    PLACE,
    PROPER,
    RELATIVE,
    STOP,
    TAIL,
    rule,
    third_person,
    third_singular,
)
from orca.text.relative_dates import mentions_date

_NEVER_NAMES = frozenset(
    """i it he she they we you this that these those there here what who which everyone everybody nobody someone somebody people god the my our your his her
    their one some many most all any no not yes well so but and or if when while monday tuesday wednesday thursday friday saturday sunday january february march
    april june july august september october november december today tomorrow yesterday christmas easter english chinese german french spanish italian japanese korean
    indian american british canadian australian mexican brazilian russian polish dutch swedish danish norwegian finnish irish scottish welsh greek turkish thai
    vietnamese portuguese swiss austrian catholic christian muslim jewish hindu buddhist sikh protestant atheist republican democrat capricorn aquarius pisces aries
    taurus gemini cancer leo virgo libra scorpio sagittarius sorry fine good great okay ok here back home ready done happy sad glad sure tired busy late afraid
    thanks hello hi hey team nature life love everything something nothing anything each neither both mine yours maybe also just still please dear european asian african
    jamaican cuban egyptian ukrainian czech hungarian romanian taiwanese singaporean malaysian indonesian filipino pakistani iranian israeli nigerian kenyan""".split()
)
NAME = r"(?-i:[A-Z][a-z]{1,14}(?: [A-Z][a-z'-]{1,20})?)"
_CONDITION = (
    r"(?:(?:mild|severe|chronic|bad|terrible|type [12]|seasonal|high-functioning|a mild case of) )*(?:asthma|diabetes|adhd|autism|epilepsy|migraines?|"
    r"arthritis|hypertension|high blood pressure|low blood pressure|high cholesterol|an(?:a)?emia|insomnia|eczema|psoriasis|c(?:o)?eliac(?: disease)?|ibs|"
    r"crohn's(?: disease)?|depression|anxiety|ptsd|ocd|dyslexia|sleep apn(?:o)?ea|heart disease|back pain|knee pain|pain|scoliosis|hay fever|"
    r"tinnitus|vertigo|endometriosis|pcos|hypothyroidism|gout|kidney stones|iron deficiency|reflux|acid reflux|"
    r"an? (?:[\w-]+ )?(?:intolerance|deficiency|disorder|heart condition|pacemaker|bad back|bad knee|bad shoulder|herniated disc|slipped disc))"
)
_HABIT_VERB = (
    r"(?:drink|eat|run|go|swim|cycle|bike|walk|jog|meditate|practi[cs]e|play|read|write|work out|work from|study|train|lift|do|take|have|get up|"
    r"wake up|sleep|cook|bake|fast|commute|drive|visit|call|journal|volunteer|teach|hike|climb|dance|stretch|watch|skip|see)"
)
_DAY = r"(?:day|morning|afternoon|evening|night|week|weekend|weekday|month|year|spring|summer|autumn|fall|winter|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
_OFTEN = (
    rf"(?:(?:every|each)(?: single| other)? {_DAY}|daily|weekly|(?:once|twice|(?:two|three|four|five|six|\d) times) (?:a|per) {_DAY}|"
    r"on (?:weekends|weekdays|(?:mon|tues|wednes|thurs|fri|satur|sun)days)|in the (?:mornings|evenings))"
)


def _is_name(match: re.Match[str]) -> bool:
    return not any(word.lower() in _NEVER_NAMES for word in match["v"].split())


def _names_somebody(match: re.Match[str]) -> bool:
    return not any(word.lower() in _NEVER_NAMES for word in match["w"].split())


def _dated(match: re.Match[str]) -> bool:
    return mentions_date(match["v"])


def _habit(match: re.Match[str]) -> Finding:
    said = match["v"].strip(" .!")
    slot = drinking_slot(said) if re.match(r"drink|have a(?:n? \w+)* (?:coffee|tea)", said) else None
    return Finding(
        content=f"The user {third_person(third_singular(said))}.", kind="fact", slot=slot, value=key(said)
    )


def _given_up(match: re.Match[str]) -> Finding:
    said = match["v"].strip(" .!")
    return Finding(content=f"The user no longer {third_person(third_singular(said))}.", kind="fact")


def _meeting(match: re.Match[str]) -> Finding | None:
    when = match["v"].strip(" .!")
    if not mentions_date(when):
        return None
    content = f"The user's side has {third_person(match['x'])} {match['w']} {third_person(when)}."
    return Finding(content=content, kind="decision", slot=event_slot(match["w"]), value=key(when))


def _somebody(predicate: str, template: str, *, slot: str, value: str | None = None) -> tuple[Rule, ...]:
    """Return rules for a named person, alone and with the user's relation to them in front."""
    return (
        rule(rf"(?P<w>{NAME}) (?:now |currently |still |also )?{predicate}", "{w} " + template, "fact", slot=f"{slot}:{{w}}{':{v}' if value else ''}", value=value, accept=_names_somebody, confidence=LOOSE_CONFIDENCE),
        rule(rf"my (?P<r>{RELATIVE}),? (?P<w>{NAME}),? (?:now |currently |still |also )?{predicate}", "The user's {r} {w} " + template, "fact", slot=f"{slot}:{{r}} {{w}}{':{v}' if value else ''}", value=value, accept=_names_somebody),
    )  # fmt: skip


LIFE_RULES: tuple[Rule, ...] = (
    rule(rf"(?:(?:i'm|i am) (?P<v>{NAME})(?: here)?)[\s!.]*$", "The user's name is {v}", "fact", slot="name", confidence=LOOSE_CONFIDENCE, accept=_is_name),
    # health
    rule(rf"i (?:also |still )?(?:have|suffer from|live with|have got|'ve got) (?P<v>{_CONDITION}){AFTERWARDS}{TAIL}", "The user has {v}", "fact"),
    rule(rf"(?:i was|i've been|i have been|i got|i was just)(?: \w+ly)? diagnosed with (?P<v>[^?;]{{3,50}}?){TAIL}", "The user was diagnosed with {v}", "fact"),
    rule(rf"(?:my|the) (?P<w>doctor|dentist|gp|physio|physiotherapist|cardiologist|dermatologist|therapist) (?:says|said|told me|recommends|advised)(?: that)? (?P<v>i(?:'m| am| have| should| need| must| can't| shouldn't)\b[^?;]{{3,70}}?){TAIL}", "The user's {w} says that {v}", "fact"),
    rule(rf"i(?:'m| am)? (?:take|taking|on) (?P<v>[\w -]{{3,30}}?(?: for my [\w ]{{3,30}}?| for (?:high )?(?:blood pressure|asthma|anxiety|depression|adhd|cholesterol|thyroid|migraines)| twice a day| once a day))(?: daily)?{TAIL}", "The user takes {v}", "fact"),
    rule(rf"my (?P<w>{RELATIVE}) (?P<x>has|suffers from|was diagnosed with) (?P<v>{_CONDITION}){AFTERWARDS}{TAIL}", "The user's {w} {x} {v}", "fact"),
    # habits
    Rule(re.compile(rf"i (?:usually |always |normally |typically |generally |now |also |still |mostly )*(?P<v>{_HABIT_VERB}\b[^?;]{{0,50}}?\b{_OFTEN}(?: (?:at|for|before|after|in|with|around|from) [^?;]{{2,30}}?)?){TAIL}", re.IGNORECASE), _habit),
    Rule(re.compile(rf"i (?:usually |always |normally |typically |generally )(?P<v>{_HABIT_VERB}\b (?!it\b|that\b|this\b|them\b|to (?:say|think|see)\b)[^?;]{{2,50}}?){TAIL}", re.IGNORECASE), _habit),
    Rule(re.compile(rf"i (?:usually |always |normally |typically )*(?P<v>(?:get up|wake up|go to bed|start work|finish work) (?:at|around|before) [^?;]{{1,25}}?){TAIL}", re.IGNORECASE), _habit),
    Rule(re.compile(rf"i no longer (?P<v>(?!want|need|see|feel|understand|know|think|care|have|believe|trust|remember|get|recall)[a-z]+ (?!it\b|that\b|this\b|them\b)[^?;]{{2,50}}?){TAIL}", re.IGNORECASE), _given_up),
    # other people
    *_somebody(rf"(?P<x>lives in|is based in|moved to) {PLACE}{AFTERWARDS}{TAIL}", "{x} {v}", slot="home"),
    *_somebody(rf"(?P<x>works (?:at|for)|joined) {PROPER}{AFTERWARDS}{TAIL}", "{x} {v}", slot="employer"),
    *_somebody(rf"is (?:severely |very )?allergic to (?P<v>[^?;]{{2,40}}?){STOP}{TAIL}", "is allergic to {v}", slot="allergy", value="yes"),
    *_somebody(rf"is (?:an? )?(?P<v>{DIET}){TAIL}", "is {v}", slot="diet"),
    *_somebody(rf"(?:doesn't|does not) eat (?P<v>(?!much|anything|enough|it\b|that\b)[^?;]{{2,30}}?){STOP}{TAIL}", "does not eat {v}", slot="consumes", value="no"),
    *_somebody(rf"(?P<x>does|handles|leads|is responsible for|is in charge of|takes care of) (?P<v>(?:the |our |all )[\w &/-]{{3,40}}?){AFTERWARDS}{TAIL}", "{x} {v}", slot="duty", value="yes"),
    rule(rf"(?P<w>{NAME})'s birthday is (?:on )?(?P<v>[^?;]{{3,30}}?){TAIL}", "{w}'s birthday is {v}", "fact", slot="birthday:{w}", accept=_names_somebody),
    rule(rf"my (?P<w>{RELATIVE}) (?:really |also )?(?P<x>doesn't eat|does not eat|doesn't drink|can't eat|never eats|eats|drinks) (?!it\b|that\b|this\b|much\b)(?P<v>[^?;]{{2,30}}?){STOP}{TAIL}", "The user's {w} {x} {v}", "fact"),
    rule(rf"my (?P<w>{RELATIVE}(?:,? {NAME},?)?) (?P<v>(?:is (?:getting married|graduating|visiting|coming|turning \d+|due|moving|starting|retiring)|gets married|got married|graduates|turns \d+|was born|arrives|starts (?:school|college|university)|passed away|died|retires)\b[^?;]{{0,40}}?)[\s.!]*$", "The user's {w} {v}", "fact", accept=_dated),
    # money
    rule(rf"(?:the|our|my) (?:total |monthly |yearly |overall |max(?:imum)? |whole )*budget(?: (?:for|of) (?P<w>[\w '-]{{2,40}}?))? (?:is|are|was set (?:to|at)|is set (?:to|at)|is capped at|is limited to|must not exceed|can't exceed|has to stay under|stays under) (?P<v>(?:(?:about|around|at most|under|only|up to|max(?:imum)?|now) )*[^?;\d]{{0,4}}\d[^?;]{{0,30}}?){TAIL}", "The budget for {w} is {v}", "fact", slot="budget:{w}", accept=lambda match: bool(match["w"])),
    rule(rf"(?:the|our|my) (?:total |monthly |yearly |overall |max(?:imum)? )*budget (?:is|was set (?:to|at)|is set (?:to|at)|is capped at|must not exceed|can't exceed|has to stay under) (?P<v>(?:(?:about|around|at most|under|only|up to|now) )*[^?;\d]{{0,4}}\d[^?;]{{0,30}}?){TAIL}", "The user's budget is {v}", "fact", slot="budget"),
    rule(rf"(?:i|we)(?: only)?(?:'ve got| have| have got) a (?:[\w-]+ )?budget of (?P<v>[^?;\d]{{0,4}}\d[^?;]{{0,30}}?){TAIL}", "The user's budget is {v}", "fact", slot="budget"),
    Rule(re.compile(r"(?P<x>our|the|my) (?P<w>(?:[\w-]+ ){0,2}(?:call|meeting|sync|stand-?up|review|retro|retrospective|check-?in|catch-?up)) (?:is|happens|takes place) (?P<v>(?:on|at|every)\b[^?;]{2,50}?)[\s.!]*$", re.IGNORECASE), _meeting),
    # what the user learns and prepares
    rule(rf"i(?:'m| am)(?: currently| also| now)? (?P<w>learning|teaching myself|training for|preparing for|studying for|saving (?:up )?for) (?!to\b|how\b|about\b|that\b|a lot|more|from|so much){NOT_A_THING}(?P<v>[^?;]{{2,50}}?){STOP}{TAIL}", "The user is {w} {v}", "fact"),
    rule(rf"(?:(?:after|before|once|when) [^?;,]{{3,25}} )?i (?:(?:want|plan|hope|intend) to|'d (?:like|love) to|would (?:like|love) to|'m (?:planning|going) to|am (?:planning|going) to) (?P<w>learn|take up|study)(?: how)?(?P<x> to)? (?!more\b|about\b|it\b|that\b|from\b|a lot){NOT_A_THING}(?P<v>[^?;]{{2,50}}?){STOP}{TAIL}", "The user wants to {w}{x} {v}", "fact"),
    # what was agreed
    rule(rf"let's (?P<x>use|go with|stick with|switch to|stay with) (?!it\b|that\b|this\b|those\b|your\b|option\b|the (?:first|second|third|last|other|latter|former|same)\b)(?P<v>[^?;]{{2,60}}?){STOP}{TAIL}", "The user's side decided to {x} {v}", "decision"),
    rule(rf"(?:we'll|we will|we are going to|we're going to) (?P<x>use) (?!it\b|that\b|this\b)(?P<v>[^?;]{{2,40}}?) for (?P<w>(?!it\b|that\b|this\b|now\b)[^?;]{{2,40}}?){STOP}{TAIL}", "The user's side will use {v} for {w}", "decision", slot="decision:{w}"),
    Rule(re.compile(r"let's (?:have|hold|do|schedule|move|keep) (?P<x>our|the|my) (?P<w>(?:[\w-]+ ){0,2}(?:call|meeting|sync|stand-?up|review|retro|retrospective|demo|check-?in|catch-?up)) (?:to )?(?P<v>(?:on|at|every|to|for)? ?[^?;]{2,50}?)[\s.!]*$", re.IGNORECASE), _meeting),
    # wishes that outlast the turn
    rule(rf"(?:so |and )?(?:please )?(?P<v>(?:don't|do not|never) (?:schedule|book|plan|call|email|e-mail|text|message|disturb|ping|send me)\b(?! it\b| that\b| this\b| them\b)[^?;]{{3,70}}?){TAIL}", "The user asks: {v}", "preference", confidence=LOOSE_CONFIDENCE, accept=lambda match: not re.search(r"\b(?:then|yet|now|today|there)[\s.!]*$", match["v"], re.IGNORECASE)),
    rule(r"(?P<v>tomorrow|tonight|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|next week|this weekend|next month) (?:i'm|i am) (?P<w>(?:travelling|traveling|flying|moving|visiting|working|meeting|leaving|starting|having|seeing|going|taking)\b[^?;]{0,40}?)[\s.!]*$", "The user is {w} {v}", "fact"),
    # the name of somebody, told in passing
    rule(rf"(?:[^?;]*\s)?my (?P<w>{RELATIVE}),? (?P<v>{NAME})(?:'s)?(?:[\s,][^?;]*)?", "The user's {w} is called {v}", "fact", confidence=LOOSE_CONFIDENCE, accept=_is_name),
)  # fmt: skip


_DANGLING = re.compile(
    r"^(?:to|also|both|either|too|so|there|here|once)$|\b(?:it|this|these|those|them|him|his|hers?|its|they|their)\b|\b(?:to|in|about|of|like|with|for|on|at|do|doing) that\b|^that\b|\bthat$",
    re.IGNORECASE,
)
_ANYBODY_KNOWS = r"(?:ocean|sea|beach|mountains?|outdoors|snow|rain|sun|countryside|city|cold|heat|piano|guitar|violin|drums|cello|flute|gym|internet|theat(?:er|re)|cinema|movies|opera|arts|news|wilderness|desert|forest|woods|night sky|stars|moon|holidays|weekends?|summer|winter|spring|autumn|fall)"
_POINTING = re.compile(rf"^[Tt]he (?!{_ANYBODY_KNOWS}\b)[a-z\d]")


def _thing(content: str) -> str:
    """Return what a sentence about a taste is about, as it is written."""
    return re.sub(r"^The user (?:does not like|dislikes|likes) ", "", content)


def dangles(finding: Finding) -> bool:
    """Whether a finding about the user rests on a word that only the conversation around it explains.

    "I love them", "we decided to use that", "I enjoy the colours": read later, they say nothing.
    """
    if not finding.content.startswith(("The user ", "The user's side ", "Decided")):
        return False
    family, _, thing = (finding.slot or "").partition(":")
    value = thing if family == "taste" else finding.value or finding.content.partition(": ")[2]
    pointing = family == "taste" and _POINTING.search(_thing(finding.content))
    return bool(_DANGLING.search(value.rstrip(" .")) or pointing)
