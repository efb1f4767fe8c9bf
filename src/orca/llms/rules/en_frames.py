"""What people say of themselves and theirs in English, as a table: who, then one of many predicates.

The rules of ``en`` and ``en_life`` know forms with a meaning of their own; these frames stand behind them and share one
shape, so that a verb that is added works for the speaker ("I teach piano"), for both ("we teach"), for relatives with
or without a name ("our aunt Jo teaches piano") and in the contracted forms of all of them.
"""

from __future__ import annotations

import re

from orca.llms.rules.base import Finding, Frame, Rule, event_slot, key
from orca.llms.rules.en_words import (
    DIET,
    NOT_A_THING,
    RELATIVE,
    ROLE,
    rule,
    third_person,
    third_singular,
)
from orca.text.relative_dates import mentions_date

_NAME = r"(?-i:[A-Z][a-z]{1,14})"
_WHO = rf"(?:(?P<me>i(?! are\b)|we)|(?:my|our) (?P<rel>{RELATIVE}(?:-in-law)?)(?:,? (?P<name>{_NAME}),?)?(?P<both> and i)?)"
_ADVERBS = r"(?:(?:also|now|currently|still|really|actually|just|recently|finally|both|always|usually|often|mostly|mainly|already|only|originally|basically|officially|probably the only one who|like|sort of|kind of|all|each|super|so|pretty|totally|very|ended up) )*"
_BE = r"(?:am|is|are|was)"
_HAVE = r"(?:have|has|had)"
_REASON = r"(?:,? (?:so|because|since|which|who|while|if not|though|although|but|hence)\b.*)?"
_END = r"(?: (?:now|these days|nowadays|at the moment|right now|currently|too|as well|btw|by the way|lol|haha|tbh|ngl|again|lately))*[\s.!)]*$"
_PLACE = r"(?P<v>(?!(?:a|an|the (?:next|same)|my|our|this|that|it|here|there|bed|step|page|fear|hope)\b)[\w'’.-]+(?: (?!with\b|for\b|because\b|and\b|last\b|this\b|when\b|by\b|in\b|from\b|after\b)[\w'’.-]+){0,3})(?: (?:with|for|because|and|last|this|when|by|in|from|after|before|on)\b[^?;]{1,50}?)?"
_FIRM = r"(?P<v>(?!(?:home|night|least|noon|midnight|the moment|it|this|that|you|step|line|page|\d))[\w&'’.-]+(?: (?!as\b|on\b|this\b|last\b|in\b|and\b|since\b|next\b)[\w&'’.-]+){0,3})(?: (?:as|on|this|last|in|and|since|next)\b[^?;]{1,50}?)?"
_SHOP = r"(?:business|bakery|caf[eé]|coffee shop|shop|store|restaurant|company|startup|studio|salon|farm|bar|pub|agency|gym|food truck|practice|clinic|consultancy|nursery|garage|B&B)"
_SHIFT = r"(?:(?:mostly |mainly |only )?(?:night shifts?|nights|days|day shifts?|weekends|shifts|part[- ]time|full[- ]time|remotely|from home|evenings))"
_STATE = r"(?:lactose[- ]intolerant|gluten[- ]intolerant|colou?r-?blind|deaf|blind|hard of hearing|dyslexic|autistic|near-?sighted|short-?sighted|far-?sighted|claustrophobic|left-handed|anemic|anaemic|insomniac|diabetic|celiac|coeliac|asthmatic|epileptic|pregnant|bilingual|scared of [^?;]{3,20}?|afraid of [^?;]{3,20}?|allergic to [^?;]{2,40}?|in a wheelchair)"
_FAMILY_STATE = r"(?:married|engaged|divorced|separated|widowed|retired|unemployed|on (?:maternity|paternity|parental|sick) leave|out of work|between jobs|self-employed|freelancing)"
_CONDITION = r"(?:(?:mild|severe|chronic|bad|terrible|type [12]|seasonal|early-onset) )*(?:asthma|diabetes|adhd|autism|epilepsy|migraines?|arthritis|dementia|alzheimer's|parkinson's|cancer|hypertension|insomnia|eczema|psoriasis|ibs|depression|anxiety|ptsd|ocd|dyslexia|sleep apn(?:o)?ea|hay fever|tinnitus|vertigo|endometriosis|pcos|gout|scoliosis|long covid|a (?:peanut|nut|dairy|gluten|cat|pollen) allergy|an? (?:[\w-]+ )?(?:intolerance|heart condition|bad (?:back|knee|shoulder|hip)))"
_ACTIVITY = r"(?:pilates|yoga|crossfit|karate|judo|boxing|bouldering|climbing|running|swimming|cycling|spin|hiking|ballet|martial arts|weightlifting|tai chi|pottery|ceramics|knitting|jiu[- ]jitsu|kickboxing|tennis|golf|padel|surfing|rowing|archery|fencing|drinking|smoking|vaping|gluten|dairy|meat|nights|days)"
_PET = r"(?:huskies|dogs|cats|horses|chickens|bees|goats|rabbits|parrots|pigeons|ducks|sheep|alpacas|bonsai|orchids)"
_INSTRUMENT = r"(?:(?:the )?(?:piano|guitar|violin|cello|drums|flute|bass|saxophone|trumpet|ukulele|harp|clarinet)|football|soccer|tennis|basketball|rugby|hockey|chess|cricket|badminton|volleyball|squash|golf|D&D)"
_SUBJECT = r"(?:piano|guitar|violin|math|maths|english|yoga|art|music|history|science|biology|chemistry|physics|french|spanish|german|chinese|pilates|drama|swimming|ceramics|dance|kindergarten|preschool|(?:first|second|third|fourth|fifth|sixth|\d\w\w) grade|high school|primary school|middle school)[^?;]{0,25}?"
_TONGUE = r"(?:korean|japanese|chinese|mandarin|cantonese|spanish|french|german|italian|portuguese|russian|arabic|hindi|dutch|swedish|norwegian|danish|finnish|polish|turkish|greek|welsh|irish|english|vietnamese|thai|hebrew|sign language|asl)"
_SCHOOL = r"(?:school|preschool|kindergarten|nursery|daycare|college|university|uni|high school|middle school|first grade|second grade|year \d+|grade \d+)"
_EVENT = r"(?:interview|driving test|test|exam|finals?|wedding|flight|appointment|surgery|operation|party|concert|meeting|trip|graduation|recital|baby shower|due date|game|race|marathon|check-?up|scan|moving day|presentation|demo|viva|defen[cs]e|gig|reunion|hearing|audition|dinner|shift|train|viewing|closing|lesson|session|delivery)"
_MONEY = r"(?:rent|mortgage|salary|pension|insurance|tuition|(?:phone|electricity|gas|heating|energy) bill|council tax|commute|pay|wage|allowance|budget)"
_STYLE = r"(?:emojis?|exclamation (?:marks|points)|bullet points|headings|jargon|tables|bold|markdown|em[- ]dashes|disclaimers|apologi[sz]ing|filler|small talk|caps|hashtags|slang|acronyms)"

FRAMES: tuple[Frame, ...] = (
    # where somebody lives
    Frame(rf"(?:{_BE} |{_HAVE} been )?(?:lives?|living|based|settled|staying|rents?|renting)(?: (?:alone|together|out|over|back|by myself|an? [\w -]{{3,20}}?|with [\w ]{{3,20}}?))? (?:in|at|near|outside) {_PLACE}", slot="home"),
    Frame(rf"(?:{_HAVE} )?(?:moved|moving|relocated)(?: back| out| down| up| over| away| house)? to (?-i:(?=[A-Z])){_PLACE}", slot="home"),
    Frame(rf"(?:{_BE} )?from (?-i:(?P<v>[A-Z][\w'’-]*(?:,? [A-Z][\w'’-]*){{0,2}}))", slot="origin"),
    Frame(r"(?:grew up|was raised|was born) (?:in|on|near) (?P<v>[\w' -]{2,25}?)", slot="grew up"),
    # what somebody does
    Frame(rf"(?:{_BE} |{_HAVE} (?:been )?)?(?:works?|working|started(?: working| a (?:new )?job)?|starting(?: work| a new job)?|joined|interns?|interning|got (?:a|the|an?) (?:new )?job|got hired|took a job|accepted a job|landed a job) (?:at|for|with) {_FIRM}", slot="employer"),
    Frame(rf"(?:{_BE} |{_HAVE} been )?(?:works?|working|do|does|doing) (?P<v>{_SHIFT})", slot="work hours"),
    Frame(rf"(?:{_BE} )?(?:not|no longer|don't|doesn't)(?: doing| working| do| work)? (?P<v>{_ACTIVITY})(?: any ?more| any longer)", slot="does:{v}", affirmed=False),
    Frame(r"(?:got|was|were|have been|has been) (?P<v>laid off|fired|let go|made redundant|promoted)(?: [^?;]{3,40}?)?", slot="employer"),
    Frame(rf"(?:{_BE} )(?P<v>freelancing|freelance|self-employed|between jobs|out of work|on (?:maternity|paternity|parental|sick) leave)", slot="employer"),
    Frame(rf"(?:{_BE} )?(?:runs?|running|owns?|opened|opening|manages?|founded|started) (?P<v>(?:an?|my own|our own|his own|her own|the) (?:[\w-]+ ){{0,3}}?{_SHOP})(?: [^?;]{{2,40}}?)?", slot="employer"),
    Frame(rf"(?:teach|teaches|taught) (?P<v>{_SUBJECT})", slot="teaches"),
    Frame(rf"(?:{_BE} )(?!(?:not|looking|hiring|seeing|meeting|calling|paying|waiting|talking|like|your|no|going|trying|asking|on)\b)(?P<v>(?:an? )?(?:[\w'-]+ ){{0,3}}?{ROLE}s?)(?: (?:at|in|for|from|with|who|based)\b[^?;]{{1,40}}?)?", slot="role"),
    # family
    Frame(rf"(?:{_BE} |{_HAVE} been )?(?:expecting|having|adopting) (?P<v>(?:an?|our|my|another|twins|triplets|a second)\b(?: (?!it\b|problem|trouble|issue|error|hard|bad|good|great|look|meeting|weird)[\w-]+){{0,3}}? (?:baby|kid|child|son|daughter|boy|girl|twins|triplets|puppy))(?: [^?;]{{2,30}}?)?", slot="expecting"),
    Frame(rf"(?:{_BE} |got |{_HAVE} been |is getting |are getting )(?:happily |recently )?(?P<v>{_FAMILY_STATE})(?: (?:in|last|this|two|three|since|for|with|to|next|on)\b[^?;]{{2,30}}?)?", slot="marital status"),
    Frame(r"(?:turned|just turned|turns|is turning|turning) (?P<v>\d{1,3})", slot="age"),
    Frame(r"(?:passed away|died|is in (?:hospital|hospice|rehab|a care home))(?: [^?;]{3,30}?)?", slot="alive"),
    Frame(rf"(?:{_BE} )?(?:start|starts|starting|started|goes to|attends|is at|is in|graduated from|graduating from|dropped out of) (?P<v>(?:[\w-]+ ){{0,3}}?{_SCHOOL})(?: (?:in|on|next|this|at|last)\b[^?;]{{2,30}}?)?", slot="school"),
    # body and health
    Frame(rf"(?:{_BE} |{_HAVE} been )(?P<v>{_STATE})(?: (?:in|since|from)\b[^?;]{{2,25}}?)?", slot="state:{v}"),
    Frame(rf"(?:{_BE} |{_HAVE} been |went )(?:an? )?(?P<v>{DIET})(?: (?:since|for)\b[^?;]{{2,25}}?)?", slot="diet"),
    Frame(rf"(?:{_HAVE}(?: got)?|suffers? from|gets?|was diagnosed with|got diagnosed with) (?P<v>{_CONDITION})(?: [^?;]{{2,30}}?)?", slot="condition:{v}"),
    Frame(r"(?:wears?|uses?|needs?) (?P<v>(?:reading )?glasses|contacts|contact lenses|(?:a )?hearing aids?|braces|a pacemaker|a wheelchair|a cane|crutches|an inhaler|insulin)(?: [^?;]{2,30}?)?", slot="aid:{v}"),
    Frame(r"(?:broke|sprained|tore|injured|dislocated|fractured) (?P<v>(?:my|his|her|their) [\w ]{3,15}?)(?: [^?;]{2,30}?)?"),
    Frame(r"(?:had|is having|am having|needs?) (?P<v>(?:(?:knee|hip|heart|back|eye|shoulder|dental|open-heart|spinal) )+(?:surgery|operation|replacement))(?: [^?;]{2,30}?)?"),
    # things and animals
    Frame(r"(?:drives?|rides?|owns?) (?P<v>(?:an?|the|my|two|\d) [\w' -]{2,30}?)(?: and [^?;]{2,40}?)?", slot="vehicle"),
    Frame(rf"(?:{_BE} )?(?:breeds?|keeps?|raises?|fosters?|rescues?|trains?) (?P<v>(?:[\w-]+ )?{_PET})"),
    # what somebody does again and again, learns, is fond of
    Frame(rf"(?:{_BE} |{_HAVE} been )?(?:learning|studying|practi[cs]ing|teaching myself|taking) (?P<v>{_TONGUE}|{_INSTRUMENT}|{_ACTIVITY})(?: (?:for|since|with|on|at|every|lessons|classes)\b[^?;]{{0,30}}?)?", slot="learns:{v}"),
    Frame(rf"(?:plays?|have been playing|has been playing) (?P<v>{_INSTRUMENT})(?: (?:in|for|since|with|on|at|every)\b[^?;]{{2,30}}?)?", slot="plays:{v}"),
    Frame(rf"(?:do|does|took up|takes|started|picked up|got into|switched to) (?P<v>{_ACTIVITY})(?: (?:on|every|twice|once|with|at|instead)\b[^?;]{{0,30}}?)?", slot="does:{v}"),
    Frame(r"(?P<v>(?:wakes?|gets?) up (?:at|around|before) [^?;]{1,40}?|(?:goes|go) to bed (?:at|around|before) [^?;]{1,30}?|sleeps? (?:until|till|from) [^?;]{1,30}?)", slot="sleep"),
    Frame(r"(?P<w>drinks?|eats?|smokes?) (?P<v>(?:about |like |around |at least )?(?:\d+|a|one|two|three|four|five|six|a few|a couple of) [\w ]{3,20}? (?:a|per|every) (?:day|week|morning))", slot="habit:{w}"),
    Frame(rf"(?:{_BE} |got )?(?:off|over|sick of|tired of|done with|gone off|have gone off|has gone off) {NOT_A_THING}(?P<v>[\w' -]{{3,25}}?)(?:, [^?;]{{2,40}}?)?", slot="taste:{v}", kind="preference", value="dislike"),
    Frame(rf"(?:can't|cannot|could never) (?:stand|eat|handle|do|have|drink|tolerate) {NOT_A_THING}(?P<v>(?!without|anything|anymore|much)[\w' -]{{3,25}}?)(?: and [^?;]{{2,40}}?)?", slot="taste:{v}", kind="preference", value="dislike"),
    Frame(r"(?:used to (?:smoke|drink|vape|gamble))\b,? but (?:i |he |she )?(?P<v>quit|stopped|gave (?:it )?up)(?: [^?;]{2,30}?)?", slot="given up"),
    # plans with a date
    Frame(rf"(?:{_BE} )(?P<v>(?:training|preparing|studying) for [^?;]{{3,40}}?|(?:getting married|moving|flying|visiting|travelling|traveling|graduating|retiring|having surgery)\b[^?;]{{2,40}}?)", dated=True),
)  # fmt: skip

_CONTRACTED = (
    (re.compile(r"^i'm\b", re.IGNORECASE), "I am"), (re.compile(r"^i've\b", re.IGNORECASE), "I have"), (re.compile(r"^we're\b", re.IGNORECASE), "we are"),
    (re.compile(r"^we've\b", re.IGNORECASE), "we have"),
    (re.compile(rf"^((?:my|our) {RELATIVE}(?:,? {_NAME})?)'s (?=got\b|been\b|had\b|gone\b|moved\b|started\b)", re.IGNORECASE), r"\1 has "),
    (re.compile(rf"^((?:my|our) {RELATIVE}(?:,? {_NAME})?)'s (?!(?:{RELATIVE}|birthday|name|friend|boss|job|house|new)\b)", re.IGNORECASE), r"\1 is "),
    (re.compile(rf"^((?:my|our) {RELATIVE}) are both\b", re.IGNORECASE), r"\1 are both"),
)  # fmt: skip
_PRESENT = re.compile(
    r"^(?:live|work|rent|run|own|manage|teach|drive|ride|keep|breed|raise|foster|play|do|take|wake|get|go|sleep|drink|eat|smoke|wear|use|need|have|am|start|intern|suffer|attend|train)\b",
    re.IGNORECASE,
)
_LEADING_ADVERBS = re.compile(rf"^{_ADVERBS}", re.IGNORECASE)


def uncontracted(clause: str) -> str:
    """Return a clause with the verb of its subject written out ("I'm" → "I am", "my dad's a cook" → "my dad is …")."""
    for pattern, plain in _CONTRACTED:
        clause = pattern.sub(plain, clause)
    return clause


def _told(match: re.Match[str]) -> str:
    """Return a match as a sentence about the user or theirs, in the third person."""
    said = match.group("said").strip(" .!,")
    adverbs = _LEADING_ADVERBS.match(said)
    front = adverbs.group() if adverbs else ""
    verb = said[len(front) :]
    if match["me"]:
        who = "The user" if match["me"].lower() == "i" else "The user's side"
        verb = third_singular(verb) if _PRESENT.match(verb) else verb
        verb = re.sub(r"^(?:are)\b", "is", verb)
        verb = re.sub(r"^were\b", "was", verb)
        verb = re.sub(r"^don't\b", "does not", verb)
    else:
        who = f"The user's {match['rel']}" + (f" {match['name']}" if match["name"] else "")
        who += " and the user" if match["both"] else ""
    return f"{who} {front}{third_person(verb)}.".replace("  ", " ")


def _of(frame: Frame) -> Rule:
    pattern = re.compile(rf"{_WHO} (?P<said>{_ADVERBS}(?:{frame.predicate})){_REASON}{_END}", re.IGNORECASE)

    def make(match: re.Match[str]) -> Finding | None:
        if frame.dated and not mentions_date(match["said"]):
            return None
        groups = {name: key(text or "") for name, text in match.groupdict().items()}
        owner = " ".join(filter(None, (groups["rel"], groups["name"])))
        slot = None
        if frame.slot is not None:
            family = "work" if owner and frame.slot == "employer" else frame.slot
            slot = family.format(**groups) + (f":{owner}" if owner else "")
        return Finding(
            content=_told(match),
            kind="fact" if owner else frame.kind,
            slot=slot,
            value=frame.value or groups.get("v") or key(match["said"]),
            affirmed=frame.affirmed,
            confidence=frame.confidence,
        )

    return Rule(pattern, make)


def _occasion(match: re.Match[str]) -> Finding | None:
    when = match["v"].strip(" .!")
    if not mentions_date(when):
        return None
    what = match["w"].lower()
    owner = "The user's" if match["x"].lower() in ("my", "our") else "The"
    return Finding(
        content=f"{owner} {what} is {third_person(when)}.",
        kind="fact",
        slot=event_slot(what),
        value=key(re.sub(r"^(?:on|at) ", "", when)),
    )


FRAME_RULES: tuple[Rule, ...] = (
    *map(_of, FRAMES),
    Rule(re.compile(rf"(?P<x>my|our|the) (?P<w>(?:(?!is\b|was\b)[\w-]+ ){{0,2}}{_EVENT}) (?:is|was|got|has been|is now)(?: (?:moved|pushed|rescheduled|set|booked|scheduled|changed))?(?: to| for)? (?P<v>(?:on |at |in )?[^?;,]{{3,35}}?){_REASON}{_END}", re.IGNORECASE), _occasion),
    rule(rf"(?:my|our) (?P<w>{_MONEY}) (?:is|costs|went up to|went down to|is now|comes to|are) (?P<v>(?:about |around )?[$€£¥]?\d[\d,.]*k?(?: (?:a|per) (?:month|week|year|hour))?)(?: (?:and|but) [^?;]{{3,50}}?)?{_END}", "The user's {w} is {v}", "fact", slot="money:{w}"),
    rule(rf"(?:as|being) (?P<v>(?:an?|the) [\w' -]{{0,25}}?(?:mom|mum|dad|mother|father|parent|{ROLE}|vegan|vegetarian|beginner|immigrant|introvert|veteran)(?: of [\w ]{{1,12}}?)?),? i\b[^?]{{3,80}}?", "The user is {v}", "fact"),
    rule(r"(?:(?:please|just|pls) )*(?P<v>(?:stop|quit|avoid) (?:using|adding|writing|saying|giving|with)(?: me)?(?: the| so many| all the| any)? [\w -]{0,15}?" + _STYLE + r"(?: (?:in|when|everywhere|all the time)\b[^?;]{0,30}?)?)[\s.!]*$", "The user asks: {v}", "preference"),
    rule(r"(?:(?:please|just|pls) )*(?P<v>(?:no more|no|don't use|never use|skip the) [\w -]{0,10}?" + _STYLE + r"(?: (?:please|in your [\w ]{3,15}?))?)[\s.!]*$", "The user asks: {v}", "preference"),
)  # fmt: skip

_DROPPED = (
    (re.compile(r"^(?:just )?(?:started|joined|got|moved|quit|bought|adopted|opened|retired|broke|turned|gave up)\b", re.IGNORECASE), "I "),
    (re.compile(r"^(?:just )?(?:starting (?:at|as)|working (?:at|for|as|from)|living in|renting|based in|freelancing|not doing|not working)\b(?!.*\b(?:is|was|are|has|can|helps|makes)\b)", re.IGNORECASE), "I am "),
    (re.compile(r"^(?:just )?been\b", re.IGNORECASE), "I have "),
)  # fmt: skip


def left_out(clause: str) -> str | None:
    """Return "I" where a message opens with a verb, as people do who speak of themselves ("just started at …")."""
    return "I" if completed(clause) != clause else None


def completed(clause: str) -> str:
    """Return a clause that left out "I" with it."""
    for pattern, subject in _DROPPED:
        if pattern.match(clause):
            return f"{subject}{clause}"
    return clause
