"""Facts in English statements. Every pattern is anchored at the speaker ("I …", "my …") and covers a whole clause.

The order of rules matters: the first that applies wins, so special forms stand before general ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from orca.llms.rules.base import LOOSE_CONFIDENCE, STATED_CONFIDENCE, Finding, Rule, first_finding, key
from orca.text.relative_dates import mentions_date
from orca.types import MemoryKind

_LEAD = re.compile(
    r"^(?:(?:well|ok|okay|so|oh|ah|hi|hello|hey|hi there|hello there|hey there|actually|by the way|btw|fyi|also|and|but|plus|anyway|anyways|honestly|"
    r"to be honest|tbh|in fact|as a matter of fact|sorry|oops|no|nope|yes|yeah|yep|right|sure|thanks|thank you|correction|update|edit|wait|"
    r"note to self|for context|for the record|just so you know|some background|about me|because|since|you see|look|i mean|i meant|"
    r"my bad|ps|p\.s|unfortunately|luckily|fortunately|finally|personally|in general|generally|usually|normally|these days|nowadays|"
    r"currently|at the moment|right now|recently)\b[ ,:!.—–-]*)+",
    re.IGNORECASE,
)
_ADVERBS = (
    r"(?:(?:currently|now|still|really|truly|absolutely|always|usually|generally|mostly|mainly|also|just|only|recently|actually|definitely|much|"
    r"quite|very much|particularly|especially|personally|already|finally|simply|totally|sometimes|often|both|both|kind of|sort of|basically|strongly|"
    r"have always|'ve always|do)\s+)*"
)
_I = rf"i\s+{_ADVERBS}"
_IM = rf"(?:i\s?am|i'm|im)\s+{_ADVERBS}"
_IVE = rf"(?:i\s+have|i've|i)\s+{_ADVERBS}"
_TAIL = r"(?:\s+(?:now|too|as well|though|anymore|any more|these days|nowadays|at the moment|right now|currently|again|a lot|so much|very much|the most|actually|btw|by the way|please|thanks|lol|haha|guys|everyone|today))*[\s!.)]*$"
_GONE = r"\s+(?:anymore|any more|any longer)[\s!.]*$"
_RELATIVE = (
    r"(?:wife|husband|partner|spouse|girlfriend|boyfriend|fianc[ée]e?|son|daughter|kid|child|baby|mother|mom|mum|father|dad|parents|brother|sister|"
    r"grandmother|grandma|grandfather|grandpa|aunt|uncle|cousin|niece|nephew|mother-in-law|father-in-law|boss|manager|colleague|coworker|roommate|"
    r"flatmate|neighbou?r|best friend|friend|cat|dog|puppy|kitten|pet|rabbit|hamster|parrot|turtle|horse|twins|kids|children|sons|daughters|brothers|sisters|cats|dogs|"
    r"(?:older|elder|younger|little|big|eldest|youngest|twin|oldest) (?:son|daughter|brother|sister|kid|child))"
)
_ROLE = (
    r"(?:engineer|developer|programmer|designer|teacher|professor|doctor|nurse|lawyer|attorney|student|undergrad(?:uate)?|manager|accountant|writer|author|"
    r"journalist|translator|interpreter|photographer|driver|chef|cook|founder|co-?founder|entrepreneur|researcher|scientist|analyst|consultant|"
    r"architect|freelancer|lecturer|pilot|mechanic|electrician|musician|artist|economist|biologist|physicist|chemist|mathematician|pharmacist|librarian|"
    r"editor|salesperson|barista|farmer|baker|plumber|carpenter|therapist|psychologist|psychiatrist|dentist|vet|veterinarian|contractor|intern|director|"
    r"cto|ceo|cfo|pm|product owner|administrator|sysadmin|officer|firefighter|paramedic|surgeon|physician|postdoc|recruiter|coach|trainer|tutor|"
    r"illustrator|animator|actor|actress|dancer|singer|composer|producer|banker|trader|actuary|statistician|technician|receptionist|assistant|clerk|"
    r"retiree|pensioner|homemaker|housewife|stay-at-home (?:mom|dad|parent)|lead|specialist|hobbyist|beekeeper|historian|linguist|geologist)"
)
_DIET = (
    r"(?:vegan|vegetarian|pescatarian|pescetarian|flexitarian|lactose[- ]intolerant|gluten[- ]free|gluten[- ]intolerant|coeliac|celiac|diabetic|"
    r"keto|halal|kosher|teetotal|omnivore)"
)
_PROJECT = (
    r"(?:app|apps|application|project|game|book|novel|thesis|dissertation|paper|startup|website|site|platform|tool|library|framework|compiler|engine|"
    r"service|product|system|plugin|extension|dashboard|api|pipeline|model|agent|chatbot|bot|assistant|course|series|podcast|blog|startup|sdk|cli|editor|"
    r"package|backend|frontend|robot|prototype|simulator|marketplace|newsletter|database|program|software)"
)
_ATTRIBUTES = {
    "birthday": "birthday", "date of birth": "birthday", "job": "role", "profession": "role", "occupation": "role",
    "employer": "employer", "company": "employer", "hometown": "origin", "home town": "origin", "native language": "native language",
    "mother tongue": "native language", "first language": "native language", "time zone": "timezone", "timezone": "timezone",
    "email": "contact:email", "email address": "contact:email", "e-mail": "contact:email", "phone number": "contact:phone",
    "phone": "contact:phone", "number": "contact:phone", "age": "age", "last name": "surname", "surname": "surname", "nickname": "called",
    "address": "home address", "home address": "home address", "blood type": "blood type", "height": "height", "weight": "weight",
    "shoe size": "shoe size", "budget": "budget", "major": "major", "school": "school", "university": "school", "hobby": "hobby", "hobbies": "hobby",
    "goal": "goal", "username": "username", "pronouns": "pronouns", "editor": "editor", "laptop": "laptop", "car": "car", "phone model": "phone model",
    "team": "team", "department": "department", "preferred language": "reply language", "salary": "salary", "flight": "flight", "room number": "room number",
    "star sign": "star sign", "zodiac sign": "star sign", "nationality": "nationality", "handle": "username", "website": "website", "blog": "website",
    "work schedule": "work schedule", "diet": "diet", "anniversary": "anniversary", "wedding anniversary": "anniversary",
}  # fmt: skip
_ATTRIBUTE = "|".join(sorted(map(re.escape, _ATTRIBUTES), key=len, reverse=True))
_NOT_A_THING = (
    r"(?!(?:it|that|this|these|those|you|your|how|what|when|where|why|who|him|her|them|the (?:idea|way|approach|answer|look|sound|first|second|third|last|"
    r"new|latest|previous|above|result|output|solution|suggestion|style|one|fact|design|version|code|other|tone|plan|name)|to (?:see|know|think|ask|point|thank|have|get|add|hear|mention|say|note|inform|report|confirm|be)|"
    r"where|one|both|option|your|my|our|everything|nothing|something|all|some of|not|or)\b)"
)
_STOP = r"(?:\s+(?:because|since|as|when|while|which|who|so|but|after|before|until|even though|although|given that|due to)\s.*)?"
_V = r"(?P<v>[^?]{1,70}?)"
_PLACE = r"(?P<v>(?!(?:fear|hope|a bubble|a dream|denial|harmony|it|this|that|there|here|the moment|a hotel|the hotel|constant|peace|the past|the present|vim|emacs|excel|a world|a simulation|your)\b)[^?;]{2,50}?)"
_FOR = r"(?:\s+(?:with|for|since|from|because|where|and|when|by|to|as|until|near|in)\s.*)?"
# Only the names of places, people and firms are written with a capital, so these stay case-sensitive.
_PROPER = r"(?-i:(?P<v>(?:the )?[A-Z\d][\w&.'’-]*(?:(?: (?:of|the|de|la|and|&))* [A-Z\d][\w&.'’-]*){0,4}|a (?:new )?(?:startup|bank|hospital|school|university|agency|consultancy|law firm|big company|small company|company|bakery|restaurant|non-?profit)[\w ]{0,25}?))"

_INTO_THIRD = (
    (r"\bI am\b|\bI['’]m\b", "they are"), (r"\bI was\b", "they were"), (r"\bI['’]ve\b", "they have"), (r"\bI['’]ll\b", "they will"),
    (r"\bI['’]d\b", "they would"), (r"\bI\b", "they"), (r"\b[Mm]y\b", "their"), (r"\b[Mm]e\b", "them"),
    (r"\b[Mm]yself\b", "themselves"), (r"\b[Mm]ine\b", "theirs"), (r"\b[Ww]e are\b|\b[Ww]e['’]re\b", "they are"),
    (r"\b[Ww]e\b", "they"), (r"\b[Oo]urs?\b", "their"), (r"\b[Uu]s\b", "them"),
)  # fmt: skip
_REPLACEMENTS = tuple((re.compile(pattern), replacement) for pattern, replacement in _INTO_THIRD)


def normalised(clause: str) -> str:
    """Return a clause with plain apostrophes and without the words that only open it ("Actually,", "by the way")."""
    return _LEAD.sub("", clause.replace("’", "'").strip()).strip()


def third_person(text: str) -> str:
    """Return the inside of a first-person sentence as said about somebody else ("my" → "their")."""
    for pattern, replacement in _REPLACEMENTS:
        text = pattern.sub(replacement, text)
    return text


def _sentence(template: str, match: re.Match[str]) -> str:
    parts = {name: third_person((text or "").strip(" .!,")) for name, text in match.groupdict().items()}
    return re.sub(r"\s+", " ", template.format(**parts)).strip() + "."


def _rule(
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
            content=_sentence(template, match),
            kind=kind,
            slot=slot.format(**{name: key(text or "") for name, text in groups.items()}) if slot else None,
            value=key(given) if given else None,
            affirmed=affirmed,
            confidence=confidence,
        )

    return Rule(re.compile(pattern, re.IGNORECASE), make)


def _attribute(match: re.Match[str]) -> Finding:
    name = match["w"].lower()
    value = match["v"].strip(" .!")
    return Finding(
        content=f"The user's {match['w']} is {third_person(value)}.",
        kind="fact",
        slot=_ATTRIBUTES[name],
        value=key(value),
    )


def _deadline(match: re.Match[str]) -> Finding | None:
    if not mentions_date(match["v"]):
        return None
    of = third_person(match["x"] or match["w"] or "")
    what = re.sub(r"^(?:the|my|our|their) ", "", key(of))
    value = match["v"].strip(" .!")
    content = f"The deadline for {of} is {value}." if of else f"The deadline is {value}."
    return Finding(content=content, kind="fact", slot=f"deadline:{what}", value=key(value))


def _dated(match: re.Match[str]) -> bool:
    return mentions_date(match["v"])


def _is_name(match: re.Match[str]) -> bool:
    words = match["v"].lower().split()
    return not (
        {"not", "a", "the", "an", "on", "back", "when", "if", "crazy", "later", "tomorrow", "today"}
        & set(words)
    )


_LIKES = r"(?:like|love|enjoy|prefer|adore|favou?r|'m (?:really )?into|am (?:really )?into|am fond of|'m fond of|am (?:a )?(?:big|huge|great)? ?fan of|'m (?:a )?(?:big|huge|great)? ?fan of|am interested in|'m interested in)"
_HATES = r"(?:dislike|hate|can't stand|cannot stand|detest|loathe|can't bear|never liked|never enjoyed|am not a (?:big )?fan of|'m not a (?:big )?fan of|am not into|'m not into)"
_NOT_LIKE = r"(?:don't|do not|no longer|never|stopped|dont)\s+(?:really |particularly |much |even )?(?:like|love|enjoy|liking|enjoying|prefer)"

PERSON_RULES: tuple[Rule, ...] = (
    # name
    _rule(r"my (?:full |real |first )?name(?:'s| is)\s+(?P<v>[^\W\d][\w'.-]*(?: [^\W\d][\w'.-]*){0,3}?)(?: by the way)?[\s!.]*$", "The user's name is {v}", "fact", slot="name", accept=_is_name),
    _rule(r"(?:my name's|i go by) (?P<v>(?-i:[A-Z])[\w'-]*(?: (?-i:[A-Z])[\w'-]*)?)[\s!.]*$", "The user's name is {v}", "fact", slot="name"),
    _rule(r"(?:i'm|i am) (?:called|named)\s+(?P<v>[^\W\d][\w'-]*(?: [^\W\d][\w'-]*){0,2})[\s!.]*$", "The user's name is {v}", "fact", slot="name"),
    _rule(r"(?:please |just |you can |people |everyone |friends |they |everybody )*calls? me (?P<v>(?-i:[A-Z])[\w'-]*(?: (?-i:[A-Z])[\w'-]*)?)[\s!.]*$", "The user wants to be called {v}", "preference", slot="called", accept=_is_name),
    # home and origin
    _rule(rf"i (?:don't|do not|no longer) live in {_PLACE}(?:{_GONE}|[\s!.]*$)", "The user no longer lives in {v}", "fact", slot="home", affirmed=False),
    _rule(rf"{_I}(?:live|reside|living) (?:in|at) {_PLACE}{_FOR}{_TAIL}", "The user lives in {v}", "fact", slot="home"),
    _rule(rf"(?:{_IM}|(?:i've|i have) been )(?:based|living|located) (?:in|at) {_PLACE}{_FOR}{_TAIL}", "The user lives in {v}", "fact", slot="home"),
    _rule(rf"{_IVE}(?:moved|relocated)(?: back)?(?: from (?P<w>[\w ,'-]{{2,30}}?))? to (?-i:(?P<v>[A-Z][\w'’-]*(?:,? [A-Z][\w'’-]*){{0,3}}))(?: from [\w ]{{2,30}}?)?{_FOR}(?: (?:last|this|in|on|a|two|three|\d+) [\w ]+)?{_TAIL}", "The user lives in {v} (moved there)", "fact", slot="home"),
    _rule(rf"{_IM}(?:originally )?from (?-i:(?P<v>[A-Z][\w'’-]*(?:,? [A-Z][\w'’-]*){{0,3}})){_TAIL}", "The user is from {v}", "fact", slot="origin"),
    _rule(rf"i (?:originally )?come from (?-i:(?P<v>[A-Z][\w'’-]*(?:,? [A-Z][\w'’-]*){{0,3}})){_TAIL}", "The user is from {v}", "fact", slot="origin"),
    _rule(rf"i (?P<w>was born|grew up|was raised)(?: and raised)? (?P<p>in|on|near) (?P<v>[^?;]{{2,40}}?){_TAIL}", "The user {w} {p} {v}", "fact", slot="{w}"),
    # work
    _rule(rf"i (?:don't|do not|no longer) work (?:at|for|with) {_PROPER}(?:{_GONE}|[\s!.]*$)", "The user no longer works at {v}", "fact", slot="employer", affirmed=False),
    _rule(rf"{_IVE}(?:left|quit|resigned from) {_PROPER}{_FOR}(?: (?:last|this) \w+)?{_TAIL}", "The user left {v}", "fact", slot="employer", affirmed=False),
    _rule(rf"{_IVE}(?P<v>quit|left|lost|resigned from) my job{_FOR}{_TAIL}", "The user {v} their job", "fact", slot="employment"),
    _rule(rf"{_I}(?P<v>work remotely|work from home|am self-employed|freelance){_TAIL}", "The user says: they {v}", "fact", slot="work mode"),
    _rule(rf"{_I}work as (?P<v>(?:an? |the )?[^?;]{{2,50}}?){_TAIL}", "The user works as {v}", "fact", slot="role"),
    _rule(rf"{_I}(?:work|working) (?:at|for) (?!home\b|night|least|the moment|a time)(?-i:(?P<v>[A-Za-z\d][\w&.'’ -]{{0,40}}?)){_FOR}{_TAIL}", "The user works at {v}", "fact", slot="employer", accept=lambda match: not re.match(r"(?:me|you|us|it|him|her|them|my|free|fun|now|all|some|that|this|hours|days|the (?:whole|day|night|same))\b", match["v"], re.IGNORECASE)),
    _rule(rf"{_IM}(?:working|employed) (?:at|for|by) {_PROPER}{_FOR}{_TAIL}", "The user works at {v}", "fact", slot="employer"),
    _rule(rf"{_IVE}(?:joined|started (?:working )?at|started a (?:new )?job at|got hired by|switched jobs to|moved to work at|took a job at|got a (?:new )?job at) {_PROPER}{_FOR}(?: (?:last|this|in|on|today|yesterday)\b.*)?{_TAIL}", "The user joined {v} and works there", "fact", slot="employer"),
    _rule(rf"{_I}work in (?P<v>[^?;]{{2,40}}?){_FOR}{_TAIL}", "The user works in {v}", "fact", slot="work field", confidence=LOOSE_CONFIDENCE, accept=lambda match: not re.match(r"(?:the (?:same|evening|morning|night)|a (?:hurry|team)|this|that|silence)", match["v"], re.IGNORECASE)),
    _rule(rf"(?:i'm|i am) (?:not|no longer) (?P<v>(?:an? )?(?:[\w+#/-]+ ){{0,4}}?{_ROLE})(?:{_GONE}|[\s!.]*$)", "The user is not {v}", "fact", slot="role", affirmed=False),
    _rule(rf"{_IM}(?P<v>(?:an? |the |your )?(?:[\w+#/-]+ ){{0,4}}?{_ROLE})(?: (?P<w>(?:at|in|for|from|with|by|of|on|who|working|specializing|specialising|living|based|focusing)\b[^?;]{{1,50}}?))?{_TAIL}", "The user is {v} {w}", "fact", slot="role", accept=lambda match: not re.search(r"\b(?:not|your|looking|talking|no|hiring|seeing|meeting|calling|paying|waiting|like)\b", match["v"], re.IGNORECASE)),
    _rule(rf"{_IM}(?P<v>\d{{1,3}})(?: years? old)?{_TAIL}", "The user is {v} years old", "fact", slot="age"),
    _rule(rf"{_IM}(?:happily )?(?P<v>married|engaged|single|divorced|widowed|pregnant|retired|unemployed|self-employed|left-handed|colou?r-?blind){_FOR}{_TAIL}", "The user is {v}", "fact", slot="status:{v}"),
    # diet
    _rule(rf"(?:i'm|i am) (?:not|no longer) (?:an? )?(?:strict )?(?P<v>{_DIET})(?:{_GONE}|[\s!.]*$)", "The user is not {v}", "preference", slot="diet", affirmed=False),
    _rule(rf"(?:{_IM}|(?:i've|i have) been )(?:an? )?(?:strict |lifelong |committed |ethical )?(?P<v>{_DIET}){_FOR}{_TAIL}", "The user is {v}", "preference", slot="diet"),
    _rule(rf"(?:i've|i have|i) (?:become|became|gone|went|turned) (?:an? )?(?P<v>{_DIET}){_FOR}{_TAIL}", "The user is {v} now", "preference", slot="diet"),
    _rule(r"i (?:now |started to |have started to |started |do )?(?:eat|eating) (?P<v>meat|fish|everything)(?: again| now| too)+[\s!.]*$", "The user eats {v} now", "preference", slot="diet"),
    _rule(rf"i only (?P<w>eat|drink) (?P<v>[^?;]{{2,30}}?){_STOP}{_TAIL}", "The user only {w}s {v}", "preference", slot="diet"),
    _rule(rf"i (?:don't|do not|can't|cannot|never|no longer) (?P<w>eat|drink|smoke) (?!it\b|that\b|this\b|much\b|a lot|enough)(?P<v>[^?;]{{2,40}}?){_STOP}{_TAIL}", "The user does not {w} {v}", "preference", slot="consumes:{v}", value="no"),
    _rule(rf"(?:i'm|i am) (?:not|no longer) allergic to (?P<v>[^?;]{{2,40}}?){_TAIL}", "The user is not allergic to {v}", "fact", slot="allergy:{v}", affirmed=False),
    _rule(rf"{_IM}(?:severely |deathly |mildly |very )?allergic to (?P<v>[^?;]{{2,40}}?){_STOP}{_TAIL}", "The user is allergic to {v}", "fact", slot="allergy:{v}"),
    _rule(rf"i have (?:an? )?(?:severe |mild |serious )?(?P<v>[\w-]+(?: [\w-]+)?) allerg(?:y|ies){_TAIL}", "The user has a {v} allergy", "fact", slot="allergy:{v}"),
    # favourites, likes and dislikes
    _rule(rf"my (?:all-time )?(?:favou?rite|fave) (?P<w>[\w ]{{2,30}}?)(?: is|'s| are| has always been|:) (?P<v>[^?;]{{1,50}}?){_STOP}{_TAIL}", "The user's favourite {w} is {v}", "preference", slot="favourite:{w}"),
    _rule(rf"i\s*{_ADVERBS}{_NOT_LIKE} {_NOT_A_THING}{_V}{_STOP}(?:{_GONE}|{_TAIL})", "The user does not like {v}", "preference", slot="taste:{v}", value="dislike"),
    _rule(rf"i\s*{_ADVERBS}{_HATES} {_NOT_A_THING}{_V}{_STOP}{_TAIL}", "The user dislikes {v}", "preference", slot="taste:{v}", value="dislike"),
    _rule(rf"i\s*{_ADVERBS}{_LIKES} {_NOT_A_THING}{_V}{_STOP}{_TAIL}", "The user likes {v}", "preference", slot="taste:{v}", value="like"),
    # family and pets
    _rule(rf"my (?P<w>{_RELATIVE})(?:'s name is| is named| is called| goes by) (?P<v>[^?;]{{2,30}}?){_TAIL}", "The user's {w} is called {v}", "fact", slot="name:{w}"),
    _rule(rf"my (?P<w>{_RELATIVE}) (?P<x>(?:doesn't|does not|don't) (?:really )?(?:like|eat)|hates?|dislikes?|can't stand) {_NOT_A_THING}{_V}{_TAIL}", "The user's {w} {x} {v}", "fact", slot="taste:{w}:{v}", value="dislike"),
    _rule(rf"my (?P<w>{_RELATIVE}) (?:really |also |always )?(?P<x>likes?|loves?|enjoys?|prefers?) {_NOT_A_THING}{_V}{_TAIL}", "The user's {w} {x} {v}", "fact", slot="taste:{w}:{v}", value="like"),
    _rule(rf"my (?P<w>{_RELATIVE}) (?P<x>lives? in|moved to|is based in) {_PLACE}{_FOR}{_TAIL}", "The user's {w} {x} {v}", "fact", slot="home:{w}"),
    _rule(rf"my (?P<w>{_RELATIVE}) (?P<x>works? (?:at|for|as|in)|joined) (?P<v>[^?;]{{2,40}}?){_TAIL}", "The user's {w} {x} {v}", "fact", slot="work:{w}"),
    _rule(rf"my (?P<w>{_RELATIVE}) (?P<x>is|are) (?P<v>allergic to [^?;]{{2,40}}?|\d{{1,3}}(?: years? old)?|(?:an? )?(?:[\w-]+ ){{0,3}}{_ROLE}|(?:an? )?{_DIET}|pregnant|married|getting married [^?;]{{2,30}}?){_TAIL}", "The user's {w} {x} {v}", "fact"),
    _rule(rf"my (?P<w>{_RELATIVE})'s birthday is (?P<v>[^?;]{{2,30}}?){_TAIL}", "The user's {w}'s birthday is {v}", "fact", slot="birthday:{w}"),
    _rule(rf"(?:i|we)(?:'ve got| have got| have| own| adopted| got)? (?P<v>(?:an?|one|two|three|four|five|six|\d+|twin) (?:[\w-]+ ){{0,3}}?{_RELATIVE}s?(?:,? (?:named|called) [^?;]{{2,40}}?)?){_TAIL}", "The user has {v}", "fact"),
    # attributes with a name
    Rule(re.compile(rf"my (?P<w>{_ATTRIBUTE}) (?:is not|isn't|was not|wasn't) [^?;]{{1,40}}?(?:,? but|,? (?:it's|it is|rather)) (?P<v>[^?;]{{1,40}}?){_TAIL}", re.IGNORECASE), _attribute),
    Rule(re.compile(rf"my (?:new )?(?P<w>{_ATTRIBUTE})(?: is| are|'s|:| has changed to| changed to)(?: now)? (?!not\b|n't|broken|slow|so\b|very\b|too\b|killing|really|down|crashing|asking|wrong)(?P<v>[^?;]{{1,60}}?){_TAIL}", re.IGNORECASE), _attribute),
    _rule(rf"(?:i|i've|i have) {_ADVERBS}(?:quit|stopped|gave up|given up) (?P<v>smoking|drinking|coffee|alcohol|caffeine|sugar|meat|gluten){_FOR}{_TAIL}", "The user has given up {v}", "preference", slot="consumes:{v}", value="no"),
    _rule(rf"(?:{_I}(?:study|major in)|{_IM}(?:studying|majoring in)) (?P<v>[^?;]{{2,40}}?)(?P<w> at [^?;]{{2,40}}?)?{_TAIL}", "The user studies {v} {w}", "fact", slot="studies"),
    _rule(rf"i speak (?P<v>[^?;]{{3,50}}?){_TAIL}", "The user speaks {v}", "fact", slot="speaks"),
)  # fmt: skip

_DECIDED = r"(?: have|'ve| has)? (?:all |finally |just |already |now |both )*(?P<x>decided|agreed|chose|chosen|opted|settled) (?P<v>(?:to|on|that|for|against|not to|in favou?r of) [^?;]{2,100}?)[\s.!]*$"
_SWITCHED = r"(?:we|i)(?: have|'ve)? (?:all |finally |just |already |now )*(?P<y>switched|migrated|moved)"

PLAN_RULES: tuple[Rule, ...] = (
    # decisions
    _rule(r"(?:decision|decided|final decision|conclusion):? (?:to )?(?P<v>[^?;]{3,100}?)[\s.!]*$", "Decided: {v}", "decision", accept=lambda match: match.group().lower().startswith(("decision:", "decided:", "final decision:", "conclusion:", "decided to"))),
    _rule(rf"i{_DECIDED}", "The user {x} {v}", "decision"),
    _rule(rf"(?:we|the team|our team){_DECIDED}", "The user's side {x} {v}", "decision"),
    _rule(rf"{_SWITCHED} (?P<w>(?!from|to|back)[\w -]{{2,30}}?)(?: from [\w .+#-]{{1,30}}?)? to (?P<v>(?!bed|sleep|the next|another|this|that|a different)[^?;]{{1,40}}?){_STOP}{_TAIL}", "The user {y} {w} to {v}", "decision", slot="decision:{w}"),
    _rule(rf"{_SWITCHED} from (?P<x>[\w .+#-]{{1,30}}?) to (?P<v>(?!bed|sleep|the next|another|this|that|a different)[^?;]{{1,40}}?){_STOP}{_TAIL}", "The user {y} from {x} to {v}", "decision"),
    _rule(rf"(?:we|i)(?: have|'ve)? (?:all |finally |just |already |now )*(?P<y>switched|migrated) to (?P<v>(?!bed|sleep|the next|another|this|that|a different)[^?;]{{1,40}}?){_STOP}{_TAIL}", "The user {y} to {v}", "decision"),
    _rule(rf"(?:we|i)(?:'re| are|'m| am) (?:now )?(?:going|sticking) with (?!you|it|that|this|my|the flow)(?P<v>[^?;]{{2,60}}?){_STOP}{_TAIL}", "The user decided to go with {v}", "decision"),
    # deadlines and dates
    Rule(re.compile(r"(?:the |our |my )?(?:(?P<w>(?!.*\b(?:is|are|not|no)\b)[\w '-]{2,40}?) )?(?:deadline|due date|release date|launch date|submission date)(?: (?:for|of) (?P<x>(?!.*\b(?:is|was)\b.*\b(?:is|was)\b)[\w '-]{2,40}?))?(?: is| was| has been| has|:| now| got)+(?: moved| pushed| changed| extended| postponed| set| brought forward| on| to| by| for| at)* (?P<v>[^?;]{2,40}?)[\s.!]*$", re.IGNORECASE), _deadline),
    _rule(r"(?:the |our |my )?(?P<w>(?!i\b|we\b|you\b|it\b|this\b|that\b)[\w '-]{2,40}?) (?:is|are) due (?:on |by |at )?(?P<v>[^?;]{2,40}?)[\s.!]*$", "The deadline for {w} is {v}", "fact", slot="deadline:{w}", accept=_dated),
    _rule(r"(?:i|we) (?:have to|must|need to|should|will|'ll) (?P<w>(?:finish|submit|deliver|ship|hand in|complete|release|launch|publish|send|pay|file|turn in)[^?;]{0,50}?) (?:by|before|until) (?P<v>[^?;]{2,30}?)[\s.!]*$", "The user has to {w} by {v}", "fact", slot="deadline:{w}", accept=_dated),
    _rule(r"(?:the |our |my )(?P<w>(?!i\b|we\b|you\b)[\w '-]{2,40}?) (?:was|is|has been|got) (?:moved|rescheduled|postponed|pushed|changed|brought forward|shifted)(?: back)? to (?P<v>[^?;]{2,40}?)[\s.!]*$", "The date of {w} is now {v}", "fact", slot="date:{w}", accept=_dated),
    _rule(r"(?:i'm|i am|we're|we are) (?P<w>(?:flying|travelling|traveling|going|moving|heading|getting married|starting|visiting|leaving|having surgery|meeting|taking)[^?;]{0,50}?) (?P<v>(?:on|in|next|this|tomorrow|at the end of)\b[^?;]{0,30}?)[\s.!]*$", "The user is {w} {v}", "fact", accept=_dated),
    # projects
    _rule(rf"(?:my|our) (?P<w>(?:[\w-]+ )?{_PROJECT}|company|team)(?:'s name)? is (?:called|named) (?P<v>[^?;]{{2,40}}?){_TAIL}", "The user's {w} is called {v}", "project", slot="name:{w}"),
    _rule(rf"(?:my|our) (?P<w>(?:[\w-]+ )?(?:{_PROJECT}|company|team|stack)) (?P<x>uses|runs on|is written in|is built (?:with|on|in)|is based on|is hosted on) (?P<v>[^?;]{{2,60}}?){_TAIL}", "The user's {w} {x} {v}", "project", slot="stack:{w}"),
    _rule(rf"(?:i|we)(?:'m| am|'re| are) (?:currently |now |still |also )*(?P<w>working on|building|developing|writing|maintaining|leading|designing|creating|making) (?!this\b|that\b|it\b)(?P<v>(?:an?|the|my|our|some)? ?(?:[\w+#'/-]+ ){{0,6}}?{_PROJECT}(?: (?:for|that|which|about|in|with|on|to|called|named)\b[^?;]{{2,60}})?){_TAIL}", "The user is {w} {v}", "project"),
)  # fmt: skip

_LANGUAGES = r"(?:english|chinese|mandarin|cantonese|german|french|spanish|japanese|korean|italian|portuguese|russian|british english|american english)"
STANDING_RULES: tuple[Rule, ...] = (
    _rule(rf"(?:from now on,? |in (?:the )?future,? |please |always |can you |could you )*(?:reply|answer|respond|write|speak|talk)(?: back)?(?: to (?:me|us))?(?: only| always)? in (?P<v>{_LANGUAGES})(?: only| from now on| please| in (?:the )?future)*[\s.!]*$", "The user wants replies in {v}", "preference", slot="reply language"),
    _rule(r"(?:from now on|in (?:the )?future|going forward),? (?:please )?(?P<v>[^?]{3,100}?)[\s.!]*$", "The user asks, from now on: {v}", "preference"),
    _rule(r"please (?P<v>(?:always|never) [^?]{3,100}?)[\s.!]*$", "The user asks: {v}", "preference", confidence=LOOSE_CONFIDENCE),
)  # fmt: skip

EXPLICIT = re.compile(
    r"^(?:please |pls |and |so |also |can you |could you |would you |will you |i want you to |i'd like you to |you should |you must |always |kindly )*"
    r"(?:remember(?: for later| this| the following)?(?: that|:|,)?|don'?t forget(?: that|:|,)?|do not forget(?: that|:|,)?|never forget that|"
    r"note(?: down)?(?: that|:)|take note(?: that|:)|keep in mind(?: that|:|,)?|bear in mind(?: that|:|,)?|"
    r"make a note(?: that|:| of)|save (?:this|the fact)(?: that|:)|memori[sz]e(?: that| this|:)?|write down that)\s+(?P<v>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_NOT_TO_REMEMBER = re.compile(
    r"^(?:this|these|the (?:above|following|code|function)|when|how|what|where|who|why|the time|the good|me\b|last|back|anything|everything|it\b|us\b|our (?:last|previous))\b",
    re.IGNORECASE,
)


def find_statement(clause: str, *, after_subject: bool) -> Finding | None:
    """Return what a clause states about the user; ``after_subject`` when the clause before it began with "I"."""
    text = normalised(clause)
    rules = (*PERSON_RULES, *PLAN_RULES, *STANDING_RULES)
    finding = first_finding(rules, text)
    if (
        finding is None
        and after_subject
        and re.match(r"(?:love|like|hate|live|work|enjoy|prefer|don't|am)\b", text, re.IGNORECASE)
    ):
        finding = first_finding(rules, f"I {text}")
    return finding


def names_speaker(clause: str) -> bool:
    """Whether a clause begins with the speaker as its subject, so that the next one may leave it out."""
    return bool(re.match(r"i(?:'m|'ve)?\s", normalised(clause), re.IGNORECASE))


def requested(sentence: str) -> str | None:
    """Return what a sentence asks to remember, or None."""
    match = EXPLICIT.match(normalised(sentence))
    if not match:
        return None
    wish = match["v"].strip(" ,.:!?")
    return None if len(wish) < 4 or _NOT_TO_REMEMBER.match(wish) else wish


def as_request(wish: str) -> str:
    """Return the sentence under which a wish without a known form is kept."""
    return f"The user asked to remember: {third_person(wish)}."


_SPOKEN = re.compile(
    r"^(?:the )?user(?P<own>'s)? (?P<said>.+)$|^(?P<bare>(?:works|lives|likes|loves|hates|prefers|dislikes|joined|moved|enjoys|is|has)\b.+)$",
    re.IGNORECASE,
)
_FIRST_FORMS = (
    (re.compile(r"^is\b"), "am"), (re.compile(r"^has\b"), "have"), (re.compile(r"^(?:does not|doesn't)\b"), "don't"),
    (re.compile(r"^no longer (\w+?)s\b"), r"no longer \1"),
    (re.compile(r"^((?:really |always |currently |now |also |only )*)(?!was\b|am\b|is\b|no\b|always\b)(\w+?[^s\W])s\b"), r"\1\2"),
)  # fmt: skip


def as_spoken(content: str) -> str | None:
    """Return a sentence about the user as the user would say it, or None when it is about somebody else."""
    text = content.strip().rstrip(".! ").replace("’", "'")
    if re.match(r"(?:i|i'm|my)\b", text, re.IGNORECASE):
        return text
    match = _SPOKEN.match(text)
    if not match:
        return None
    if match["own"]:
        return f"my {match['said']}"
    said = match["said"] or match["bare"][0].lower() + match["bare"][1:]
    for pattern, form in _FIRST_FORMS:
        said = pattern.sub(form, said)
    return f"I {said}".replace(" their ", " my ")
