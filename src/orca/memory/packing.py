"""Which recalled hits enter the prompt: no text twice, each tier its share, unused room to who needs it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from orca.memory.recalled_block import (
    Language,
    cut_to_fit,
    own_words,
    render_block,
    render_line,
    replaces_note,
    superseded_note,
)
from orca.protocols import TokenCounter
from orca.text.normalize import fold
from orca.types import ContextItem, Correction, Hit, Tier

MIN_CUT_TOKENS = 64
"""A best match that is too long is cut to no less than this: a label of some 20 tokens and a sentence or two."""


@dataclass(slots=True, eq=False)
class Entry:
    """A hit on its way into the prompt. ``reason`` is empty as long as nothing is decided.

    ``corrects`` are the messages that say a value's old version, of one that no search found: it is there for them.
    """

    tier: Tier
    hit: Hit
    line: str
    tokens: int
    note: str = ""
    corrects: frozenset[int] = frozenset()
    included: bool = False
    reason: str = ""

    @property
    def open(self) -> bool:
        """Whether it is still to be decided."""
        return not self.reason

    def take(self, reason: str) -> None:
        """Let it enter."""
        self.included = True
        self.reason = "sets right what the window says" if self.corrects else reason

    def leave(self, reason: str) -> None:
        """Leave it out."""
        self.included, self.reason = False, reason

    def as_item(self) -> ContextItem:
        """Return its line of the ledger."""
        return ContextItem(
            tier=self.tier,
            id=self.hit.id,
            tokens=self.tokens,
            score=self.hit.score,
            included=self.included,
            reason=self.reason,
            text=self.line,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """The candidates of a prompt in two pools, each best first.

    The short-term pool holds this session's summaries and the recalled messages of any session; the long-term
    pool the memories.
    """

    short_term: tuple[Entry, ...]
    long_term: tuple[Entry, ...]
    language: Language
    counter: TokenCounter

    @property
    def everything(self) -> tuple[Entry, ...]:
        """All candidates, short-term first."""
        return self.short_term + self.long_term

    @property
    def frame_tokens(self) -> int:
        """What a block costs before its first line; 0 when nothing could enter it."""
        if not any(candidate.open for candidate in self.everything):
            return 0
        return self.counter.count(render_block((), self.language) + "\n\n")

    def need(
        self,
        *,
        short_share: int,
        long_share: int,
        shown: Container[int] = (),
        summaries: Container[int] = (),
    ) -> int:
        """Return the tokens that the pools would take, each up to its share.

        A window shows the messages with the ids ``shown`` and the turns of ``summaries``: those need none.
        """
        known = {"message": shown, "summary": summaries}

        def wanted(pool: Iterable[Entry]) -> int:
            return sum(
                one.tokens for one in pool if one.open and one.hit.id not in known.get(one.hit.kind, ())
            )

        lines = min(wanted(self.short_term), short_share) + min(wanted(self.long_term), long_share)
        return self.frame_tokens + lines if lines else 0

    def least(self, *, short_share: int, long_share: int) -> int:
        """Return the tokens of the best of each pool, each up to its share."""
        short = next((candidate.tokens for candidate in self.short_term if candidate.open), 0)
        long = next((candidate.tokens for candidate in self.long_term if candidate.open), 0)
        return self.frame_tokens + min(short, short_share) + min(long, long_share)

    def block(self) -> str | None:
        """Return the block of what entered, or None.

        Memories stand first, best first; then summaries and messages, each in the order of their happening.
        """
        entered = [candidate for candidate in self.everything if candidate.included]
        if not entered:
            return None
        lines = [candidate.line for candidate in self.long_term if candidate.included]
        for tier in ("short_term", "messages"):
            part = [candidate for candidate in entered if candidate.tier == tier]
            lines += [candidate.line for candidate in sorted(part, key=lambda candidate: candidate.hit.id)]
        return render_block(lines, self.language)


def gather(
    *,
    short_term: Sequence[Hit],
    long_term: Sequence[Hit],
    messages: Sequence[Hit],
    corrections: Sequence[Correction],
    language: Language,
    counter: TokenCounter,
) -> Recalled:
    """Return the hits as candidates, each pool ranked by score; equal scores keep the order given."""
    stale = {source: correction for correction in corrections for source in correction.message_ids}
    current = {correction.memory_id: correction for correction in corrections}

    def candidate(tier: Tier, hit: Hit, corrects: Iterable[int] = ()) -> Entry:
        note = ""
        if hit.kind == "message" and hit.id in stale:
            note = superseded_note(stale[hit.id].current, language)
        elif hit.kind == "memory" and hit.id in current:
            note = replaces_note(current[hit.id].stale, language)
        line = render_line(hit, language, note=note)
        return Entry(tier, hit, line, counter.count(line + "\n"), note, frozenset(corrects))

    def ranked(*found: Entry) -> tuple[Entry, ...]:
        return tuple(sorted(found, key=lambda entry: -entry.hit.score))

    known = {hit.id for hit in long_term}
    return Recalled(
        short_term=ranked(
            *(candidate("short_term", hit) for hit in short_term),
            *(candidate("messages", hit) for hit in messages),
        ),
        long_term=ranked(
            *(
                candidate("long_term", _current_value(correction), correction.message_ids)
                for correction in corrections
                if correction.memory_id not in known
            ),
            *(candidate("long_term", hit) for hit in long_term),
        ),
        language=language,
        counter=counter,
    )


def _current_value(correction: Correction) -> Hit:
    """Return the value that must stand beside messages of the window which still say the old one.

    It ranks above everything else of its tier: a prompt that quotes a stale value without its correction presents
    it as a fact. A recalled message needs none, since it bears a note.
    """
    return Hit(
        kind="memory",
        id=correction.memory_id,
        session=None,
        content=correction.current,
        score=1.0,
        created_at=correction.since,
        source="user",
    )


def leave_out_unfit(recalled: Recalled, *, query: str | None, floor: float) -> None:
    """Leave out blank hits, hits below the relevance floor, and texts that are there already among them.

    Of equal texts the long-term memory stays, then the summary, then the message.
    """
    seen: dict[str, str] = {comparable(query): "the query"} if query else {}
    for candidate in (
        *recalled.long_term,
        *sorted(recalled.short_term, key=lambda one: one.tier == "messages"),
    ):
        text = comparable(own_words(candidate.hit))
        if not text:
            candidate.leave("nothing to show")
        elif candidate.hit.relevance < floor:
            candidate.leave(f"below the relevance floor: {candidate.hit.relevance:.2f} < {floor:.2f}")
        elif text in seen:
            candidate.leave(f"the same text as {seen[text]}")
        else:
            seen[text] = f"{candidate.hit.kind} {candidate.hit.id}"


def leave_out_shown(recalled: Recalled, *, ids: set[int], texts: set[str], summary_ids: set[int]) -> None:
    """Leave out what the prompt shows already, and what would set right something that it does not show.

    Shown are messages by ``ids``, summaries whose whole turn is there, and any hit with the same (comparable) text.
    """
    for candidate in recalled.everything:
        if not candidate.open:
            continue
        if candidate.corrects and ids.isdisjoint(candidate.corrects):
            candidate.leave("what it sets right is not in the working window")
        elif candidate.hit.kind == "message" and candidate.hit.id in ids:
            candidate.leave("in the working window already")
        elif candidate.hit.kind == "summary" and candidate.hit.id in summary_ids:
            candidate.leave("its turn is in the working window already")
        elif comparable(own_words(candidate.hit)) in texts:
            candidate.leave("the same text is in the working window already")


def pack(recalled: Recalled, room: int, *, short_share: int, long_share: int) -> None:
    """Decide every open candidate within ``room`` tokens.

    First the best of each pool, then each pool's others in the order of rank up to its share; one that does not
    fit is passed over, and smaller ones behind it still enter. What is left of the room then goes to the rest in
    the order of rank, short-term first, since the seed sacrifices long-term memory first; of it, a best match
    that was too long gets what the rest do not need, at least half, and is cut to that. Where half is too little
    for a cut, the rest come first.
    """
    left = room - recalled.frame_tokens
    pools = (_Pool(recalled.short_term, short_share), _Pool(recalled.long_term, long_share))
    for pool in pools:
        left -= pool.take_best(left)
    for pool in pools:
        left -= pool.take_others(left)
    too_long = [pool.too_long for pool in pools if pool.too_long is not None]
    rest = [candidate for candidate in recalled.everything if candidate.open and candidate not in too_long]
    others = sum(candidate.tokens for candidate in rest)
    for best in too_long:
        limit = max(left // 2, left - others)
        if limit >= min(best.tokens, MIN_CUT_TOKENS):
            left -= _take_cut(best, limit, recalled)
    for candidate in rest:
        if candidate.tokens <= left:
            candidate.take("fits in room that others left")
            left -= candidate.tokens
        else:
            candidate.leave(f"no room: {candidate.tokens} tokens, {max(left, 0)} left")
    for best in too_long:
        if best.open:
            left -= _take_cut(best, left, recalled)


@dataclass(slots=True, eq=False)
class _Pool:
    """One tier's candidates, best first, and what is left of its share."""

    candidates: tuple[Entry, ...]
    share: int
    too_long: Entry | None = None

    def take_best(self, left: int) -> int:
        """Take the best candidate if the share and the room ``left`` hold it; return the tokens it took."""
        best = next((candidate for candidate in self.candidates if candidate.open), None)
        if best is None:
            return 0
        self.share = min(self.share, max(left, 0))
        if best.tokens > self.share:
            self.too_long = best
            # Half of the share waits for its cut version, so that short noise cannot crowd out the best match.
            half = self.share // 2
            self.share -= half if half >= MIN_CUT_TOKENS else 0
            return 0
        best.take("best match")
        self.share -= best.tokens
        return best.tokens

    def take_others(self, left: int) -> int:
        """Take what else fits the share, in the order of rank; return the tokens taken."""
        taken = 0
        for candidate in self.candidates:
            fits = candidate.tokens <= min(self.share, left - taken)
            if candidate.open and candidate is not self.too_long and fits:
                candidate.take("fits its tier's share")
                self.share -= candidate.tokens
                taken += candidate.tokens
        return taken


def comparable(text: str) -> str:
    """Return a text as it is compared: folded, with single blanks."""
    return " ".join(fold(text).split())


def _take_cut(best: Entry, room: int, recalled: Recalled) -> int:
    """Take a best match whole or cut, or note that it is too long; return the tokens it took."""
    if best.tokens <= room:
        best.take("best match, in room that others left")
        return best.tokens
    line = None
    if room >= MIN_CUT_TOKENS:
        line = cut_to_fit(
            own_words(best.hit),
            room - 1,  # the line break behind it
            recalled.counter,
            render=lambda text: render_line(best.hit, recalled.language, content=text, note=best.note),
            mark=f" …[cut, id {best.hit.id}]",
        )
    if line is None:
        best.leave(f"omitted: too long, id {best.hit.id}: {best.tokens} tokens, {max(room, 0)} left")
        return 0
    whole = best.tokens
    best.line, best.tokens = line, recalled.counter.count(line + "\n")
    best.take(f"best match, cut to fit: {best.tokens} of {whole} tokens")
    return best.tokens
