"""Facts in English statements. Every pattern is anchored at the speaker ("I …", "my …") and covers a whole clause.

The order of rules matters: the first that applies wins, so special forms stand before general ones.
"""

from __future__ import annotations

import re

from orca.llms.rules.base import (
    LOOSE_CONFIDENCE,
    UNNAMED_DEADLINE,
    Finding,
    Rule,
    event_slot,
    first_finding,
    key,
)
from orca.llms.rules.en_frames import FRAME_RULES, completed, left_out, uncontracted
from orca.llms.rules.en_life import LIFE_RULES, NAME, dangles
from orca.llms.rules.en_words import (
    ADVERBS,
    AFTERWARDS,
    DIET,
    GONE,
    I_AM,
    I_DO,
    I_HAVE,
    NOT_A_THING,
    PLACE,
    PROJECT,
    PROPER,
    RELATIVE,
    ROLE,
    STOP,
    TAIL,
    VALUE,
    normalised,
    rule,
    third_person,
)
from orca.text.relative_dates import mentions_date

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


def _attribute(match: re.Match[str]) -> Finding:
    name = match["w"].lower()
    value = match["v"].strip(" .!")
    return Finding(
        content=f"The user's {match['w']} is {third_person(value)}.",
        kind="fact",
        slot=_ATTRIBUTES[name],
        value=key(value),
    )


_CHANGED = re.compile(r"\b(?:moved|pushed|changed|extended|postponed|brought forward)\b", re.IGNORECASE)


def _deadline(match: re.Match[str]) -> Finding | None:
    if not mentions_date(match["v"]):
        return None
    of = third_person(match["x"] or match["w"] or "")
    what = re.sub(r"^(?:the|my|our|their) ", "", key(of))
    value = match["v"].strip(" .!")
    content = f"The deadline for {of} is {value}." if of else f"The deadline is {value}."
    return Finding(
        content=content,
        kind="fact",
        slot=f"deadline:{what}" if what else UNNAMED_DEADLINE,
        value=key(value),
        changed=bool(_CHANGED.search(match.group())),
    )


def _moved(match: re.Match[str]) -> Finding | None:
    when = match["v"].strip(" .!")
    if not mentions_date(when):
        return None
    content = f"The date of {third_person(match['w'])} is now {when}."
    return Finding(content=content, kind="fact", slot=event_slot(match["w"]), value=key(when), changed=True)


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
    rule(r"my (?:full |real |first )?name(?:'s| is)\s+(?P<v>[^\W\d][\w'.-]*(?: [^\W\d][\w'.-]*){0,3}?)(?: by the way)?[\s!.]*$", "The user's name is {v}", "fact", slot="name", accept=_is_name),
    rule(r"(?:my name's|i go by) (?P<v>(?-i:[A-Z])[\w'-]*(?: (?-i:[A-Z])[\w'-]*)?)[\s!.]*$", "The user's name is {v}", "fact", slot="name"),
    rule(r"(?:i'm|i am) (?:called|named)\s+(?P<v>[^\W\d][\w'-]*(?: [^\W\d][\w'-]*){0,2})[\s!.]*$", "The user's name is {v}", "fact", slot="name"),
    rule(r"(?:please |just |you can |people |everyone |friends |they |everybody )*calls? me (?P<v>(?-i:[A-Z])[\w'-]*(?: (?-i:[A-Z])[\w'-]*)?)[\s!.]*$", "The user wants to be called {v}", "preference", slot="called", accept=_is_name),
    # home and origin
    rule(rf"i (?:don't|do not|no longer) live in {PLACE}(?:{GONE}|[\s!.]*$)", "The user no longer lives in {v}", "fact", slot="home", affirmed=False),
    rule(rf"{I_DO}(?:live|reside|living) (?:in|at) {PLACE}{AFTERWARDS}{TAIL}", "The user lives in {v}", "fact", slot="home"),
    rule(rf"(?:{I_AM}|(?:i've|i have) been )(?:based|living|located) (?:in|at) {PLACE}{AFTERWARDS}{TAIL}", "The user lives in {v}", "fact", slot="home"),
    rule(rf"{I_HAVE}(?:moved|relocated)(?: back)?(?: from (?P<w>[\w ,'-]{{2,30}}?))? to (?-i:(?P<v>[A-Z][\w'’-]*(?:,? [A-Z][\w'’-]*){{0,3}}))(?: from [\w ]{{2,30}}?)?(?P<t> (?:last|this|in|on|at|since|a|two|three|four|five|\d+) [\w ]+?)?{AFTERWARDS}{TAIL}", "The user moved to {v} {t} and lives there", "fact", slot="home"),
    rule(rf"{I_AM}(?:originally )?from (?-i:(?P<v>[A-Z][\w'’-]*(?:,? [A-Z][\w'’-]*){{0,3}})){TAIL}", "The user is from {v}", "fact", slot="origin"),
    rule(rf"i (?:originally )?come from (?-i:(?P<v>[A-Z][\w'’-]*(?:,? [A-Z][\w'’-]*){{0,3}})){TAIL}", "The user is from {v}", "fact", slot="origin"),
    rule(rf"i (?P<w>was born|grew up|was raised)(?: and raised)? (?P<p>in|on|near) (?P<v>[^?;]{{2,40}}?){TAIL}", "The user {w} {p} {v}", "fact", slot="{w}"),
    # work
    rule(rf"i (?:don't|do not|no longer) work (?:at|for|with) {PROPER}(?:{GONE}|[\s!.]*$)", "The user no longer works at {v}", "fact", slot="employer", affirmed=False),
    rule(rf"{I_HAVE}(?:left|quit|resigned from) {PROPER}{AFTERWARDS}(?: (?:last|this) \w+)?{TAIL}", "The user left {v}", "fact", slot="employer", affirmed=False),
    rule(rf"{I_HAVE}(?P<v>quit|left|lost|resigned from) my job{AFTERWARDS}{TAIL}", "The user {v} their job", "fact", slot="employment"),
    rule(rf"{I_DO}(?P<v>work remotely|work from home|am self-employed|freelance){TAIL}", "The user says: they {v}", "fact", slot="work mode"),
    rule(rf"{I_DO}work as (?P<v>(?:an? |the )?[^?;]{{2,50}}?){TAIL}", "The user works as {v}", "fact", slot="role"),
    rule(rf"{I_DO}(?:work|working) (?:at|for) (?!home\b|night|least|the moment|a time)(?-i:(?P<v>[A-Za-z\d][\w&.'’ -]{{0,40}}?)){AFTERWARDS}{TAIL}", "The user works at {v}", "fact", slot="employer", accept=lambda match: not re.match(r"(?:me|you|us|it|him|her|them|my|free|fun|now|all|some|that|this|hours|days|the (?:whole|day|night|same))\b", match["v"], re.IGNORECASE)),
    rule(rf"{I_AM}(?:working|employed) (?:at|for|by) {PROPER}{AFTERWARDS}{TAIL}", "The user works at {v}", "fact", slot="employer"),
    rule(rf"{I_HAVE}(?:joined|started (?:working )?at|started a (?:new )?job at|got hired by|switched jobs to|moved to work at|took a job at|got a (?:new )?job at) {PROPER}{AFTERWARDS}(?: (?:last|this|in|on|today|yesterday)\b.*)?{TAIL}", "The user joined {v} and works there", "fact", slot="employer"),
    rule(rf"{I_DO}work in (?P<v>[^?;]{{2,40}}?){AFTERWARDS}{TAIL}", "The user works in {v}", "fact", slot="work field", confidence=LOOSE_CONFIDENCE, accept=lambda match: not re.match(r"(?:the (?:same|evening|morning|night)|a (?:hurry|team)|this|that|silence)", match["v"], re.IGNORECASE)),
    rule(rf"(?:i'm|i am) (?:not|no longer) (?P<v>(?:an? )?(?:[\w+#/-]+ ){{0,4}}?{ROLE})(?:{GONE}|[\s!.]*$)", "The user is not {v}", "fact", slot="role", affirmed=False),
    rule(rf"{I_AM}(?P<v>(?:an? |the |your )?(?:[\w+#/-]+ ){{0,4}}?{ROLE})(?: (?P<w>(?:at|in|for|from|with|by|of|on|who|working|specializing|specialising|living|based|focusing)\b[^?;]{{1,50}}?))?{TAIL}", "The user is {v} {w}", "fact", slot="role", accept=lambda match: not re.search(r"\b(?:not|your|looking|talking|no|hiring|seeing|meeting|calling|paying|waiting|like)\b", match["v"], re.IGNORECASE)),
    rule(rf"{I_AM}(?P<v>\d{{1,3}})(?: years? old)?{TAIL}", "The user is {v} years old", "fact", slot="age"),
    rule(rf"{I_AM}(?:happily )?(?P<v>married|engaged|single|divorced|widowed|pregnant|retired|unemployed|self-employed|left-handed|colou?r-?blind){AFTERWARDS}{TAIL}", "The user is {v}", "fact", slot="status:{v}"),
    # diet
    rule(rf"(?:i'm|i am) (?:not|no longer) (?:an? )?(?:strict )?(?P<v>{DIET})(?:{GONE}|[\s!.]*$)", "The user is not {v}", "preference", slot="diet", affirmed=False),
    rule(rf"(?:{I_AM}|(?:i've|i have) been )(?:an? )?(?:strict |lifelong |committed |ethical )?(?P<v>{DIET}){AFTERWARDS}{TAIL}", "The user is {v}", "preference", slot="diet"),
    rule(rf"(?:i've|i have|i) (?:become|became|gone|went|turned) (?:an? )?(?P<v>{DIET}){AFTERWARDS}{TAIL}", "The user is {v} now", "preference", slot="diet"),
    rule(r"i (?:now |started to |have started to |started |do )?(?:eat|eating) (?P<v>meat|fish|everything)(?: again| now| too)+[\s!.]*$", "The user eats {v} now", "preference", slot="diet"),
    rule(rf"i only (?P<w>eat|drink) (?P<v>[^?;]{{2,30}}?){STOP}{TAIL}", "The user only {w}s {v}", "preference", slot="diet"),
    rule(rf"i (?:don't|do not|can't|cannot|never|no longer) (?P<w>eat|drink|smoke) (?!it\b|that\b|this\b|much\b|a lot|enough)(?P<v>[^?;]{{2,40}}?){STOP}{TAIL}", "The user does not {w} {v}", "preference", slot="consumes:{v}", value="no"),
    rule(rf"(?:i'm|i am) (?:not|no longer) allergic to (?P<v>[^?;]{{2,40}}?){TAIL}", "The user is not allergic to {v}", "fact", slot="allergy:{v}", affirmed=False),
    rule(rf"{I_AM}(?:severely |deathly |mildly |very )?allergic to (?P<v>[^?;]{{2,40}}?){STOP}{TAIL}", "The user is allergic to {v}", "fact", slot="allergy:{v}"),
    rule(rf"i have (?:an? )?(?:severe |mild |serious )?(?P<v>[\w-]+(?: [\w-]+)?) allerg(?:y|ies){TAIL}", "The user has a {v} allergy", "fact", slot="allergy:{v}"),
    # favourites, likes and dislikes
    rule(rf"my (?:all-time )?(?:favou?rite|fave) (?P<w>(?!(?:one|ones|thing|things|part|parts|bit|piece)\b)[\w ]{{2,30}}?)(?: is|'s| are| has always been|:) (?P<v>[^?;]{{1,50}}?){STOP}{TAIL}", "The user's favourite {w} is {v}", "preference", slot="favourite:{w}"),
    rule(rf"i\s*{ADVERBS}{_NOT_LIKE} {NOT_A_THING}{VALUE}{STOP}(?:{GONE}|{TAIL})", "The user does not like {v}", "preference", slot="taste:{v}", value="dislike"),
    rule(rf"i\s*{ADVERBS}{_HATES} {NOT_A_THING}{VALUE}{STOP}{TAIL}", "The user dislikes {v}", "preference", slot="taste:{v}", value="dislike"),
    rule(rf"i\s*{ADVERBS}{_LIKES} {NOT_A_THING}{VALUE}{STOP}{TAIL}", "The user likes {v}", "preference", slot="taste:{v}", value="like"),
    # family and pets
    rule(rf"my (?P<w>{RELATIVE})(?:'s name is| is named| is called| goes by) (?P<v>[^?;]{{2,30}}?){TAIL}", "The user's {w} is called {v}", "fact", slot="name:{w}"),
    rule(rf"my (?P<w>{RELATIVE}) (?P<x>(?:doesn't|does not|don't) (?:really )?(?:like|eat)|hates?|dislikes?|can't stand) {NOT_A_THING}{VALUE}{TAIL}", "The user's {w} {x} {v}", "fact", slot="taste:{w}:{v}", value="dislike"),
    rule(rf"my (?P<w>{RELATIVE}) (?:really |also |always )?(?P<x>likes?|loves?|enjoys?|prefers?) {NOT_A_THING}{VALUE}{TAIL}", "The user's {w} {x} {v}", "fact", slot="taste:{w}:{v}", value="like"),
    rule(rf"my (?P<w>{RELATIVE}) (?P<x>lives? in|moved to|is based in) {PLACE}{AFTERWARDS}{TAIL}", "The user's {w} {x} {v}", "fact", slot="home:{w}"),
    rule(rf"my (?P<w>{RELATIVE}) (?P<x>works? (?:at|for|as|in)|joined) (?P<v>[^?;]{{2,40}}?){TAIL}", "The user's {w} {x} {v}", "fact", slot="work:{w}"),
    rule(rf"my (?P<w>{RELATIVE}) (?P<x>is|are) (?P<v>allergic to [^?;]{{2,40}}?|\d{{1,3}}(?: years? old)?|(?:an? )?(?:[\w-]+ ){{0,3}}{ROLE}|(?:an? )?{DIET}|pregnant|married|getting married [^?;]{{2,30}}?){TAIL}", "The user's {w} {x} {v}", "fact"),
    rule(rf"my (?P<w>{RELATIVE})'s birthday is (?P<v>[^?;]{{2,30}}?){TAIL}", "The user's {w}'s birthday is {v}", "fact", slot="birthday:{w}"),
    rule(rf"(?:i|we)(?:'ve got| have got| have| own| adopted| got)? (?P<v>(?:an?|one|two|three|four|five|six|\d+|twin) (?:[\w-]+ ){{0,3}}?{RELATIVE}s?(?:,? (?:named|called) [^?;]{{2,40}}?)?){TAIL}", "The user has {v}", "fact"),
    # attributes with a name
    Rule(re.compile(rf"my (?P<w>{_ATTRIBUTE}) (?:is not|isn't|was not|wasn't) [^?;]{{1,40}}?(?:,? but|,? (?:it's|it is|rather)) (?P<v>[^?;]{{1,40}}?){TAIL}", re.IGNORECASE), _attribute),
    Rule(re.compile(rf"my (?:new )?(?P<w>{_ATTRIBUTE})(?: is| are|'s|:| has changed to| changed to)(?: now)? (?!not\b|n't|like\b|been\b|just\b|broken|slow|so\b|very\b|too\b|killing|really|down|crashing|asking|wrong)(?P<v>[^?;]{{1,60}}?){TAIL}", re.IGNORECASE), _attribute),
    rule(rf"(?:i|i've|i have) {ADVERBS}(?:quit|stopped|gave up|given up) (?P<v>smoking|drinking|coffee|alcohol|caffeine|sugar|meat|gluten){AFTERWARDS}{TAIL}", "The user has given up {v}", "preference", slot="consumes:{v}", value="no"),
    rule(rf"(?:{I_DO}(?:study|major in)|{I_AM}(?:studying|majoring in)) (?P<v>[^?;]{{2,40}}?)(?P<w> at [^?;]{{2,40}}?)?{TAIL}", "The user studies {v} {w}", "fact", slot="studies"),
    rule(rf"i speak (?P<v>[^?;]{{3,50}}?){TAIL}", "The user speaks {v}", "fact", slot="speaks"),
)  # fmt: skip

_DECIDED = r"(?: have|'ve| has)? (?:all |finally |just |already |now |both )*(?P<x>decided|agreed|chose|chosen|opted|settled) (?P<v>(?:to|on|that|for|against|not to|in favou?r of) [^?;]{2,100}?)[\s.!]*$"
_SWITCHED = r"(?:we|i)(?: have|'ve)? (?:all |finally |just |already |now )*(?P<y>switched|migrated|moved)"

PLAN_RULES: tuple[Rule, ...] = (
    # decisions
    rule(r"(?:decision|decided|final decision|conclusion):? (?:to )?(?P<v>[^?;]{3,100}?)[\s.!]*$", "Decided: {v}", "decision", accept=lambda match: match.group().lower().startswith(("decision:", "decided:", "final decision:", "conclusion:", "decided to"))),
    rule(rf"i{_DECIDED}", "The user {x} {v}", "decision"),
    rule(rf"(?:we|the team|our team){_DECIDED}", "The user's side {x} {v}", "decision"),
    rule(rf"{_SWITCHED} (?P<w>(?!from|to|back)[\w -]{{2,30}}?)(?: from [\w .+#-]{{1,30}}?)? to (?P<v>(?!bed|sleep|the next|another|this|that|a different)[^?;]{{1,40}}?){STOP}{TAIL}", "The user {y} {w} to {v}", "decision", slot="decision:{w}"),
    rule(rf"{_SWITCHED} from (?P<x>[\w .+#-]{{1,30}}?) to (?P<v>(?!bed|sleep|the next|another|this|that|a different)[^?;]{{1,40}}?){STOP}{TAIL}", "The user {y} from {x} to {v}", "decision"),
    rule(rf"(?:we|i)(?: have|'ve)? (?:all |finally |just |already |now )*(?P<y>switched|migrated) to (?P<v>(?!bed|sleep|the next|another|this|that|a different)[^?;]{{1,40}}?){STOP}{TAIL}", "The user {y} to {v}", "decision"),
    rule(rf"(?:we|i)(?:'re| are|'m| am) (?:now )?(?:going|sticking) with (?!you|it|that|this|my|the flow)(?P<v>[^?;]{{2,60}}?){STOP}{TAIL}", "The user decided to go with {v}", "decision"),
    # deadlines and dates
    Rule(re.compile(r"(?:the |our |my )?(?:(?P<w>(?!.*\b(?:is|are|not|no)\b)[\w '-]{2,40}?) )?(?:deadline|due date|release date|launch date|submission date)(?: (?:for|of) (?P<x>(?!.*\b(?:is|was)\b.*\b(?:is|was)\b)[\w '-]{2,40}?))?(?:(?: is| was| has been| has|:| now| got)+|(?= (?:moved|slipped|pushed|changed|extended|postponed) (?:back )?to ))(?: back| slipped| moved| pushed| changed| extended| postponed| set| brought forward| on| to| by| for| at)* (?P<v>[^?;]{2,40}?)[\s.!]*$", re.IGNORECASE), _deadline),
    rule(r"(?:the |our |my )?(?P<w>(?!i\b|we\b|you\b|it\b|this\b|that\b)[\w '-]{2,40}?) (?:is|are) due (?:on |by |at )?(?P<v>[^?;]{2,40}?)[\s.!]*$", "The deadline for {w} is {v}", "fact", slot="deadline:{w}", accept=_dated),
    rule(r"(?:i|we) (?:have to|must|need to|should|will|'ll) (?P<w>(?:finish|submit|deliver|ship|hand in|complete|release|launch|publish|send|pay|file|turn in)[^?;]{0,50}?) (?:by|before|until) (?P<v>[^?;]{2,30}?)[\s.!]*$", "The user has to {w} by {v}", "fact", slot="deadline:{w}", accept=_dated),
    Rule(re.compile(r"(?:the |our |my )(?P<w>(?!i\b|we\b|you\b)[\w '-]{2,40}?) (?:was|is|has been|got) (?:moved|rescheduled|postponed|pushed|changed|brought forward|shifted)(?: back)? to (?P<v>[^?;]{2,40}?)[\s.!]*$", re.IGNORECASE), _moved),
    rule(r"(?:i'm|i am|we're|we are) (?P<w>(?:flying|travelling|traveling|moving|getting married|leaving|having surgery)|(?:flying|travelling|traveling|going|moving|heading|getting married|starting|visiting|leaving|having surgery|meeting|taking) (?!on\b|in\b|next\b|this\b)[^?;]{2,50}?) (?P<v>(?:on|in|next|this|tomorrow|at the end of)\b[^?;]{0,30}?)[\s.!]*$", "The user is {w} {v}", "fact", accept=_dated),
    # projects
    rule(rf"(?:my|our) (?P<w>(?:[\w-]+ )?{PROJECT}|company|team)(?:'s name)? is (?:called|named) (?P<v>[^?;]{{2,40}}?){TAIL}", "The user's {w} is called {v}", "project", slot="name:{w}"),
    rule(rf"(?:my|our) (?P<w>(?:[\w-]+ )?(?:{PROJECT}|company|team|stack)) (?P<x>uses|runs on|is written in|is built (?:with|on|in)|is based on|is hosted on) (?P<v>[^?;]{{2,60}}?){TAIL}", "The user's {w} {x} {v}", "project", slot="stack:{w}"),
    rule(rf"(?:i|we)(?:'m| am|'re| are) (?:currently |now |still |also )*(?P<w>working on|building|developing|writing|maintaining|leading|designing|creating|making) (?!this\b|that\b|it\b)(?P<v>(?:an?|the|my|our|some)? ?(?:[\w+#'/-]+ ){{0,6}}?{PROJECT}(?: (?:for|that|which|about|in|with|on|to|called|named)\b[^?;]{{2,60}})?){TAIL}", "The user is {w} {v}", "project"),
)  # fmt: skip

_LANGUAGES = r"(?:english|chinese|mandarin|cantonese|german|french|spanish|japanese|korean|italian|portuguese|russian|british english|american english)"
STANDING_RULES: tuple[Rule, ...] = (
    rule(rf"(?:from now on,? |in (?:the )?future,? |please |always |can you |could you )*(?:reply|answer|respond|write|speak|talk)(?: back)?(?: to (?:me|us))?(?: only| always)? in (?P<v>{_LANGUAGES})(?: only| from now on| please| in (?:the )?future)*[\s.!]*$", "The user wants replies in {v}", "preference", slot="reply language"),
    rule(r"(?:from now on|in (?:the )?future|going forward),? (?:please )?(?P<v>[^?]{3,100}?)[\s.!]*$", "The user asks, from now on: {v}", "preference"),
    rule(r"please (?P<v>(?:always|never) [^?]{3,100}?)[\s.!]*$", "The user asks: {v}", "preference", confidence=LOOSE_CONFIDENCE),
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


_RULES = (*PERSON_RULES, *PLAN_RULES, *STANDING_RULES, *LIFE_RULES)


def _finding(clause: str) -> Finding | None:
    """Return what the first rule that applies finds; frames read the subject's verb written out."""
    return first_finding(_RULES, clause) or first_finding(FRAME_RULES, uncontracted(clause))


_ELLIPTIC = re.compile(
    r"(?:love|hate|live|work|enjoy|prefer|don't|do not|no longer|never|am|have|study|speak|drink|eat|play|moved|joined|quit|adopted|switched|started|gave up|grew up|was born|teach|run|drive|wear|keep)\b",
    re.IGNORECASE,
)
_SECOND_VERB = re.compile(
    r"\s+(?:and|but)\s+(?=(?:(?:also|now|currently|still|really|usually)\s+)*(?:love|hate|live|work|enjoy|prefer|don't|do not|no longer|never|am|have|study|speak|"
    r"drink|eat|play|moved|joined|quit|adopted|switched|started|gave up|grew up|was born|teach|run|drive|wear|keep)\b)",
    re.IGNORECASE,
)
# After these a second verb is not a statement of its own: "I want to move to Rome and work there".
_OPEN_ENDED = re.compile(
    r"\b(?:want|would|will|could|can|(?-i:may)|might|should|must|need|hope|plan|going to|gonna|decided|like to|love to|let's|try|used to)\b|'ll\b|'d\b",
    re.IGNORECASE,
)
_THIRD_TWICE = re.compile(
    rf"(?P<who>(?i:my) {RELATIVE}(?: {NAME})?|{NAME}) (?P<one>[^?;]{{3,60}}?) and (?P<two>(?:lives|works|is|has|likes|loves|hates|doesn't|does not|moved|joined)\b.+)"
)
_ADVERB_FIRST = re.compile(r"^(?:also|now|currently|still|really|usually)\s+", re.IGNORECASE)


def find_statements(clause: str, *, subject: str | None) -> list[Finding]:
    """Return what a clause states; ``subject`` is what the clause before left as its subject ("I"), if anything.

    A clause with two verbs ("I moved to Berlin and work at a bakery") states two things.
    """
    text = normalised(clause)
    if _ELLIPTIC.match(_ADVERB_FIRST.sub("", text)) and subject == "I":
        text = f"I {text}"
    elif subject == "I":
        text = completed(text)
    cut = _SECOND_VERB.search(text)
    if cut and re.match(r"i\b", text, re.IGNORECASE) and not _OPEN_ENDED.search(text[: cut.start()]):
        first = _finding(text[: cut.start()])
        twice = (
            text[cut.end() :].split()[0].lower() in text[: cut.start()].lower().split()
        )  # "the peace and love"
        others = [] if twice else find_statements(text[cut.end() :], subject="I")
        if first is not None and others:
            return [finding for finding in (first, *others) if not dangles(finding)]
    if (third := _THIRD_TWICE.match(text)) is not None:
        found = [_finding(f"{third['who']} {third[part]}") for part in ("one", "two")]
        if all(found):
            return [finding for finding in found if finding is not None]
    finding = _finding(text)
    return [finding] if finding is not None and not dangles(finding) else []


def assumed_subject(clause: str) -> str | None:
    """Return the subject that the first clause of a message left out, as far as its form shows it."""
    return left_out(normalised(clause))


def subject_of(clause: str) -> str | None:
    """Return "I" where a clause begins with the speaker as its subject, so that the next one may leave it out."""
    return "I" if re.match(r"i(?:'m|'ve)?\s", normalised(clause), re.IGNORECASE) else None


_ADVICE = re.compile(r"\b(?:you|your|yourself|we all|everyone)\b|^-", re.IGNORECASE)
_TO_DO = re.compile(
    r"^to (?!(?:always|never|only|use|reply|answer|call|respond|write|keep|include|avoid|send)\b)",
    re.IGNORECASE,
)


def requested(sentence: str) -> str | None:
    """Return what a sentence asks to remember, or None.

    "Remember, every step counts!" is advice to somebody, and "Remember that book?" is a question; only what
    states something, or how the assistant should act, is a request.
    """
    said = normalised(sentence)
    match = EXPLICIT.match(said)
    if not match:
        return None
    wish = match["v"].strip(" ,.:!?")
    asks = said.endswith("?") and not _ASKED.match(said)
    if len(wish) < 4 or asks or _NOT_TO_REMEMBER.match(wish) or _TO_DO.match(wish):
        return None
    if not _FIRST_PERSON.search(wish):
        aside = re.search(r"(?:remember|forget),", said[: match.start("v") + 1], re.IGNORECASE)
        if aside or len(wish.split()) < 3 or _ADVICE.search(wish):
            return None
    return (
        None
        if re.match(r"(?:i'm|i am) (?:always )?here\b|i (?:love|miss) you", wish, re.IGNORECASE)
        else wish
    )


_ASKED = re.compile(r"^(?:please )?(?:can|could|would|will) you\b", re.IGNORECASE)
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|my|me|we|our|us)\b", re.IGNORECASE)


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
