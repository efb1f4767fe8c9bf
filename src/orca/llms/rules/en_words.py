"""The words that English rules are made of, and how a rule becomes a sentence about the user."""

from __future__ import annotations

import re
from collections.abc import Callable

from orca.llms.rules.base import STATED_CONFIDENCE, Finding, Rule, key
from orca.types import MemoryKind

LEAD = re.compile(
    r"^(?:(?:well|ok|okay|so|oh|ah|hi|hello|hey|hi there|hello there|hey there|actually|by the way|btw|fyi|also|and|but|plus|anyway|anyways|honestly|"
    r"to be honest|tbh|in fact|as a matter of fact|sorry|oops|no|nope|yes|yeah|yep|right|sure|thanks|thank you|correction|update|edit|wait|"
    r"note to self|for context|for the record|just so you know|some background|about me|because|since|you see|look|i mean|i meant|"
    r"my bad|ps|p\.s|unfortunately|luckily|fortunately|finally|personally|in general|generally|usually|normally|these days|nowadays|"
    r"currently|at the moment|right now|recently)\b[ ,:!.—–-]*)+",
    re.IGNORECASE,
)
ADVERBS = (
    r"(?:(?:currently|now|still|really|truly|absolutely|always|usually|generally|mostly|mainly|also|just|only|recently|actually|definitely|much|"
    r"quite|very much|particularly|especially|personally|already|finally|simply|totally|sometimes|often|both|both|kind of|sort of|basically|strongly|"
    r"have always|'ve always|do)\s+)*"
)
I_DO = rf"i\s+{ADVERBS}"
I_AM = rf"(?:i\s?am|i'm|im)\s+{ADVERBS}"
I_HAVE = rf"(?:i\s+have|i've|i)\s+{ADVERBS}"
TAIL = r"(?:\s+(?:now|too|as well|though|anymore|any more|these days|nowadays|at the moment|right now|currently|again|a lot|so much|very much|the most|actually|btw|by the way|please|thanks|lol|haha|guys|everyone|today))*[\s!.)]*$"
GONE = r"\s+(?:anymore|any more|any longer)[\s!.]*$"
RELATIVE = (
    r"(?:wife|husband|partner|spouse|girlfriend|boyfriend|fianc[ée]e?|son|daughter|kid|child|baby|mother|mom|mum|father|dad|parents|brother|sister|"
    r"grandmother|grandma|grandfather|grandpa|aunt|uncle|cousin|niece|nephew|mother-in-law|father-in-law|boss|manager|colleague|coworker|roommate|co-?founder|business partner|team-?mate|landlord|landlady|grandson|granddaughter|step(?:son|daughter|mother|father|mom|dad)|ex-?wife|ex-?husband|ex|godson|goddaughter|"
    r"flatmate|neighbou?r|best friend|friend|cat|dog|puppy|kitten|pet|rabbit|hamster|parrot|turtle|horse|twins|kids|children|sons|daughters|brothers|sisters|cats|dogs|"
    r"(?:older|elder|younger|little|big|eldest|youngest|twin|oldest) (?:son|daughter|brother|sister|kid|child))"
)
ROLE = (
    r"(?:engineer|developer|programmer|designer|teacher|professor|doctor|nurse|lawyer|attorney|student|undergrad(?:uate)?|manager|accountant|writer|author|"
    r"journalist|translator|interpreter|photographer|driver|chef|cook|founder|co-?founder|entrepreneur|researcher|scientist|analyst|consultant|"
    r"architect|freelancer|lecturer|pilot|mechanic|electrician|musician|artist|economist|biologist|physicist|chemist|mathematician|pharmacist|librarian|"
    r"editor|salesperson|barista|farmer|baker|plumber|carpenter|therapist|psychologist|psychiatrist|dentist|vet|veterinarian|contractor|intern|director|"
    r"cto|ceo|cfo|pm|product owner|administrator|sysadmin|officer|firefighter|paramedic|surgeon|physician|postdoc|recruiter|coach|trainer|tutor|"
    r"illustrator|animator|actor|actress|dancer|singer|composer|producer|banker|trader|actuary|statistician|technician|receptionist|assistant|clerk|"
    r"retiree|pensioner|homemaker|housewife|stay-at-home (?:mom|dad|parent)|lead|specialist|hobbyist|beekeeper|historian|linguist|geologist)"
)
DIET = (
    r"(?:vegan|vegetarian|pescatarian|pescetarian|flexitarian|lactose[- ]intolerant|gluten[- ]free|gluten[- ]intolerant|coeliac|celiac|diabetic|"
    r"keto|halal|kosher|teetotal|omnivore)"
)
PROJECT = (
    r"(?:app|apps|application|project|game|book|novel|thesis|dissertation|paper|startup|website|site|platform|tool|library|framework|compiler|engine|"
    r"service|product|system|plugin|extension|dashboard|api|pipeline|model|agent|chatbot|bot|assistant|course|series|podcast|blog|startup|sdk|cli|editor|"
    r"package|backend|frontend|robot|prototype|simulator|marketplace|newsletter|database|program|software)"
)
NOT_A_THING = (
    r"(?!(?:it|that|this|these|those|you|your|how|what|when|where|why|who|him|her|them|the (?:idea|way|approach|answer|look|sound|first|second|third|last|"
    r"new|latest|previous|above|result|output|solution|suggestion|style|one|fact|design|version|code|other|tone|plan|name)|to (?:see|know|think|ask|point|thank|have|get|add|hear|mention|say|note|inform|report|confirm|be)|"
    r"where|one|both|option|your|my|our|everything|nothing|something|all|some of|not|or)\b)"
)
STOP = r"(?:\s+(?:because|since|as|when|while|which|who|so|but|after|before|until|even though|although|given that|due to)\s.*)?"
VALUE = r"(?P<v>[^?]{1,70}?)"
PLACE = r"(?P<v>(?!(?:fear|hope|a bubble|a dream|denial|harmony|it|this|that|there|here|the moment|a hotel|the hotel|constant|peace|the past|the present|vim|emacs|excel|a world|a simulation|your)\b)[^?;]{2,50}?)"
AFTERWARDS = r"(?:\s+(?:with|for|since|from|because|where|and|when|by|to|as|until|near|in)\s.*)?"
# Only the names of places, people and firms are written with a capital, so these stay case-sensitive.
PROPER = r"(?-i:(?P<v>(?:the )?[A-Z\d][\w&.'’-]*(?:(?: (?:of|the|de|la|and|&))* [A-Z\d][\w&.'’-]*){0,4}|a (?:new )?(?:startup|bank|hospital|school|university|agency|consultancy|law firm|big company|small company|company|bakery|restaurant|non-?profit)[\w ]{0,25}?))"

_INTO_THIRD = (
    (r"\bI am\b|\bI['’]m\b", "they are"), (r"\bI was\b", "they were"), (r"\bI['’]ve\b", "they have"), (r"\bI['’]ll\b", "they will"),
    (r"\bI['’]d\b", "they would"), (r"\bI\b", "they"), (r"\b[Mm]y\b", "their"), (r"\b[Mm]e\b", "them"),
    (r"\b[Mm]yself\b", "themselves"), (r"\b[Mm]ine\b", "theirs"), (r"\b[Ww]e are\b|\b[Ww]e['’]re\b", "they are"),
    (r"\b[Ww]e\b", "they"), (r"\b[Oo]urs?\b", "their"), (r"\b[Uu]s\b", "them"),
)  # fmt: skip
_REPLACEMENTS = tuple((re.compile(pattern), replacement) for pattern, replacement in _INTO_THIRD)


_CONTRACTED = {
    "im": "i'm", "ive": "i've", "dont": "don't", "cant": "can't", "doesnt": "doesn't", "isnt": "isn't", "wont": "won't", "didnt": "didn't",
}  # fmt: skip
_WITHOUT_APOSTROPHE = re.compile(rf"\b(?:{'|'.join(_CONTRACTED)})\b", re.IGNORECASE)


def normalised(clause: str) -> str:
    """Return a clause with its apostrophes, typed or not, and without the words that only open it ("by the way")."""
    plain = _WITHOUT_APOSTROPHE.sub(
        lambda match: _CONTRACTED[match.group().lower()], clause.replace("’", "'").strip()
    )
    return LEAD.sub("", plain).strip()


def third_person(text: str) -> str:
    """Return the inside of a first-person sentence as said about somebody else ("my" → "their")."""
    text = re.sub(r"\bi(?=\b(?!\.))", "I", text)
    for pattern, replacement in _REPLACEMENTS:
        text = pattern.sub(replacement, text)
    return text


def sentence_of(template: str, match: re.Match[str]) -> str:
    """Return a template filled with a match's groups, which then speak of the user in the third person."""
    parts = {name: third_person((text or "").strip(" .!,")) for name, text in match.groupdict().items()}
    return re.sub(r"\s+", " ", template.format(**parts)).strip() + "."


def rule(
    pattern: str,
    template: str,
    kind: MemoryKind,
    *,
    slot: str | None = None,
    affirmed: bool = True,
    value: str | None = None,
    confidence: float = STATED_CONFIDENCE,
    accept: Callable[[re.Match[str]], bool] | None = None,
) -> Rule:
    """Return a rule; ``{v}`` and ``{w}`` in ``template`` and ``slot`` are the pattern's groups."""

    def make(match: re.Match[str]) -> Finding | None:
        if accept and not accept(match):
            return None
        groups = match.groupdict()
        given = value or groups.get("v")
        return Finding(
            content=sentence_of(template, match),
            kind=kind,
            slot=slot.format(**{name: key(text or "") for name, text in groups.items()}) if slot else None,
            value=key(given) if given else None,
            affirmed=affirmed,
            confidence=confidence,
        )

    return Rule(re.compile(pattern, re.IGNORECASE), make)


_IRREGULAR_THIRD = {"have": "has", "do": "does", "go": "goes", "am": "is", "don't": "doesn't", "be": "is"}


def third_singular(phrase: str) -> str:
    """Return a verb phrase as said of one person: "drink tea" → "drinks tea"; only its first word changes."""
    verb, space, rest = phrase.partition(" ")
    low = verb.lower()
    if low in _IRREGULAR_THIRD:
        form = _IRREGULAR_THIRD[low]
    elif re.search(r"(?:s|x|z|ch|sh)$", low):
        form = f"{verb}es"
    elif re.search(r"[^aeiou]y$", low):
        form = f"{verb[:-1]}ies"
    else:
        form = f"{verb}s"
    return f"{form}{space}{rest}"
