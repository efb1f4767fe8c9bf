"""Every constant of ranking, with the measurement behind it; docs/explanation/retrieval.md has the tables.

"LoCoMo" is the five development conversations, 786 questions of categories 1 to 4, turn level. The first figure
is any@10, the share of questions with an evidence turn among the first ten; half a point is within noise.
"""

from __future__ import annotations

from typing import Literal

SearchLane = Literal["dense", "keyword"]

LANES: tuple[SearchLane, ...] = ("dense", "keyword")
"""The lanes of every search; a trial may turn some of them off."""

CANDIDATES = 600
"""Rows that the vectors may bring in, so that the work of a search is bounded whatever the size of the store. How
alike a query and unrelated rows are is learnt from them, and turns beside a match may be among them. LoCoMo, MRR: .641 at
1,000, .640 here; any@5 and any@10 are the same."""

EXPANDED = 400
"""The best rows of each lane whose neighbours are looked up too; keywords bring in no more than that.
LoCoMo, MRR: .640 at 400, .637 at 200."""

RERANKED = 120
"""The best rows that are loaded, so that priors that need their words can act on them. LoCoMo, MRR: .640 from 60 on."""

BM25_K1 = 1.2
"""Saturation of a term's frequency (Robertson and Zaragoza 2009). .8 and 1.6 are within noise."""

BM25_B = 0.5
"""Normalisation by length. Lexical lane on LoCoMo: .803 at .3, .803 at .5, .799 at .75."""

WINDOWS = (0, 1, 2)
"""Radii, in turns, whose BM25 scores are added. Lexical lane on LoCoMo: .686 for the turn alone, .807 with all."""

WORD_CHARACTERS = 4.0
"""Characters that words of other scripts have at least, on average and with the gap; tells which rows are Chinese."""

NEIGHBOURS = max(WINDOWS)
"""How far around a candidate turns are looked at."""

SMOOTHING = (1.0, 0.4, 0.25)
"""Weights of the z-scored cosines of a turn and its neighbours at distance 1 and 2. LoCoMo .874; .859 without."""

LEXICAL_WEIGHT = 0.6
"""Weight of the lexical lane where both lanes serve. LoCoMo, before priors on length: .874 from .5 to .65."""

OTHER_LANGUAGE_WEIGHT = 0.3
"""How much of its weight the lexical lane would lose if all rows were in another language than the query: there it
knows no more than a list of translations. Bilingual set, any@5: .822 at 0, .832 at .2, .846 at .3, .842 at .5."""

SHRINKAGE = 5.0
"""Weight of the assumption that rows of both languages have the same cosines, in rows of either language times .25."""

FULL_COVERAGE = 0.5
"""Share of the query's weight (idf) that one row has to hold for the lexical lane to get its full weight.

Below it the weight falls in proportion: the best of several junk matches is still junk. Neutral on LoCoMo, where
most queries are covered; decisive where query and rows are in different languages.
"""

CLEAR_SPREAD = 0.2
"""Difference between the largest and the smallest cosine of a search from which on the dense lane has its full say.

Among the few rows of a young store all cosines may lie within some hundredths: normalised to [0, 1] they would be
noise with the weight of a judgement. Below it the lane's weight falls in proportion. Neutral on LoCoMo, where the
cosines of a search always spread wider.
"""

FEW_WORDS = 2
"""Words up to which a query is a search for these very words rather than a question."""

ASSUMED_DOCUMENTS = 100
"""Rows added to the index's number when coverage is computed: in a store of one row every term that it holds
would be worth next to nothing, and it could never be covered."""

QUESTION_PRIOR = 0.85
"""Turns that ask are seldom the answer. Lexical lane on LoCoMo: .849 with it, .833 without; .7 is worse."""

SPEAKER_PRIOR = 1.5
"""Turns of the one speaker that the query names. LoCoMo, any@5: .812 at 1.3, .814 at 1.4, .817 at 1.5."""

TELLER_PRIOR = 1.25
"""All turns but those of the assistant that neither ask nor answer, where speakers have no names; not where the
query speaks to the assistant ("what did you say?").

What people ask for later is what they told, or were told; such turns only comment. Bilingual set, any@5:
.737 at 1, .764 at 1.25, .781 at 1.5; its evidence is always the user's, so the smaller gain is taken."""

DATE_PRIOR = 1.5
"""Turns near a date that the query names. LoCoMo, any@5: .809 at 1.3, .812 at 1.5."""

RELATIVE_DATE_PRIOR = 2.0
"""Turns of the days that the query names relative to today ("yesterday", "上周"). Bilingual set, 26 such questions,
any@5: .69 at 1, .73 at 1.3, .81 at 1.5, .85 at 2."""

DATE_DAYS = 7
"""Days around a named day that count as near: people tell of things some days later."""

ANSWER_PRIOR = 1.05
"""Turns that follow another speaker's question. LoCoMo: .884 with it, .879 without; 1.2 is worse."""

AMOUNT_PRIOR = 1.3
"""Turns that hold a number, where the query asks how many or how much. LoCoMo, any@5 and MRR: .817 and .626 at 1,
.819 and .629 at 1.3; bilingual set .827 and .621 at 1, .836 and .627 at 1.3."""

TIME_PRIOR = 1.3
"""Turns that name a day or a time, where the query asks when. LoCoMo, any@5 and MRR: .819 and .638; bilingual set
.832 and .634, against the figures above."""

MAX_PRIOR = (
    SPEAKER_PRIOR * max(DATE_PRIOR, RELATIVE_DATE_PRIOR) * max(AMOUNT_PRIOR, TIME_PRIOR) * ANSWER_PRIOR
)
"""The largest product of priors, by which scores are divided so that they stay in [0, 1]."""

SHORT_PRIOR = 0.2
"""How much a turn without words would lose; longer ones lose less, up to ``SHORT_TERMS``. LoCoMo: .884, .879 without."""

SHORT_TERMS = 20
"""Words from which on a turn is not short; a Chinese character counts as one."""

RELEVANCE_FLOOR = 0.5
"""Hits below it do not enter a prompt unasked. The scale is set by the two constants that follow."""

CLEAR_DEVIATIONS = 2.75
"""Standard deviations above unrelated texts at which a cosine alone shows relevance.

Measured on 20 facts, asked for in paraphrase within and across Chinese and English, and 15 unrelated requests in
both: at 2.75 the fact passes in .85 to .95 of the questions and one unrelated request in seven lets something in; at
3.25 it is .75 to .95 and one in nine. A wrong fact costs some tokens, a lost one the answer."""

CLEAR_COVERAGE = 0.4
"""Share of the query's idf at which keywords alone show relevance. On the same facts and without vectors, what is
meant lies at .44 and above where words are shared at all; unrelated requests below .35, in both languages."""

MIN_POPULATION = 30
"""Rows with vectors that it takes to learn from them how similar unrelated texts are."""
