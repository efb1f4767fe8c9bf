"""``MessageStore``: what is stored comes back as it was, in the order of storing, and to its owner only."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from orca.errors import ConfigError, NotFoundError
from orca.facets import MessageStore
from orca.testing import FixedClock
from orca.text.analysis import query_terms
from orca.types import Message, Scope

IDS = [
    "john_doe", "john-doe", "johnXdoe", "user1", "user10", "%", "_", "'", '"', "..", "../../x", "/", "/etc/passwd",
    "\\", "C:\\x", "CON", "con", "nul.", "a:b", "a.b", "a.", "a ", "a\x00b", "a\x00c", "a\nb", "用户", "é", "e\u0301", "x" * 300,
    "'; DROP TABLE main_messages; --", "",
]  # fmt: skip


def said(*texts: str, **fields: object) -> list[Message]:
    return [Message(role="user", content=text, **fields) for text in texts]


def contents(found: list[Message]) -> list[object]:
    return [message.content for message in found]


@pytest.mark.case(14)
@pytest.mark.parametrize(
    "content",
    [
        "text",
        "",
        None,
        [],
        ["a", "b"],
        [
            {"type": "text", "text": "什么"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        ],
        [{"type": "thinking", "deep": {"er": [1, 2.5, True, None]}}],
        "  edges \n",
        "line\r\nline\u2028line",
        "👩‍👩‍👧‍👦 é e\u0301 ﬁ",
        "nul \x00 inside",
        "long " * 40_000,
    ],
)
def test_content_of_any_shape_comes_back(messages: MessageStore, scope: Scope, content: object) -> None:
    stored = messages.append([Message(role="assistant", content=content)], scope=scope)[0]
    assert stored.content == content
    assert messages.get(stored.id, scope=scope).content == content


@pytest.mark.case(14)
def test_every_field_comes_back(messages: MessageStore, scope: Scope) -> None:
    calls = [{"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"q": "猫"}'}}]
    given = Message(
        role="assistant",
        content=None,
        name="helper",
        tool_calls=calls,
        tool_call_id="call_0",
        msg_type="decision",
        token_count=17,
        timestamp=datetime(2026, 5, 10, 8, 30, 0, 123456, UTC),
        metadata={"tags": ["a", "b"], "n": 1.5, "deep": {"x": None}},
        origin="tool",
        reasoning="because",
        dedupe_key="k1",
    )
    stored = messages.append([given], scope=scope)[0]
    expected = replace(
        given,
        id=stored.id,
        user=scope.user,
        session=scope.session,
        agent=scope.agent,
        position=stored.position,
    )
    assert stored == expected
    assert messages.get(stored.id, scope=scope) == expected
    assert messages.recent(scope=scope) == [expected]


@pytest.mark.case(8)
@pytest.mark.parametrize("text", ["high \ud800 end", "low \udfff end", "\ud83d", "pair \ud83d\ude00"])
def test_half_an_emoji_loses_no_message(messages: MessageStore, scope: Scope, text: str) -> None:
    stored = messages.append(said(text, metadata={"m": text}, reasoning=text), scope=scope)[0]
    found = messages.get(stored.id, scope=scope)
    expected = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert found.content == expected
    assert found.metadata == {"m": expected}


@pytest.mark.case(8)
def test_one_message_with_a_nul_among_ten(messages: MessageStore, scope: Scope) -> None:
    texts = [f"number{n}" for n in range(10)]
    texts[4] = "apple\x00plum"
    messages.append(said(*texts), scope=scope)
    assert contents(messages.recent(scope=scope)) == texts
    for word in ("apple", "plum", "number3", "number5"):
        assert len(messages.search(query_terms(word), scope=scope, limit=5).matches) == 1


@pytest.mark.case(14)
def test_values_that_json_lacks_are_converted_or_refused_before_any_write(
    messages: MessageStore, scope: Scope
) -> None:
    stored = messages.append(
        said(
            "a", metadata={"when": datetime(2026, 1, 1, tzinfo=UTC), "raw": b"\x00\xff", "nan": float("nan")}
        ),
        scope=scope,
    )[0]
    assert messages.get(stored.id, scope=scope).metadata == {
        "when": "2026-01-01T00:00:00+00:00",
        "raw": {"$base64": "AP8="},
        "nan": None,
    }
    with pytest.raises(ConfigError, match="metadata"):
        messages.append([*said("good"), *said("bad", metadata={"x": object()})], scope=scope)
    assert contents(messages.recent(scope=scope)) == ["a"]


def test_unknown_roles_are_refused(messages: MessageStore, scope: Scope) -> None:
    with pytest.raises(ConfigError, match="role"):
        messages.append([*said("a"), Message(role="wizard", content="b")], scope=scope)
    assert messages.count() == 0


@pytest.mark.case(26)
def test_order_is_the_order_of_storing_when_the_clock_steps_back(
    messages: MessageStore, scope: Scope, clock: FixedClock
) -> None:
    for number, step in enumerate([1, -3600, 0, 10]):
        clock.advance(step)
        messages.append(said(str(number)), scope=scope)
    start = clock.now()
    messages.append(said("4", timestamp=start - timedelta(days=9)) + said("5", timestamp=start), scope=scope)
    found = messages.recent(scope=scope)
    assert contents(found) == ["0", "1", "2", "3", "4", "5"]
    assert [message.position for message in found] == [1, 2, 3, 4, 5, 6]
    assert [message.id for message in found] == sorted({message.id for message in found})


@pytest.mark.case(26)
def test_pages_repeat_and_skip_nothing_with_equal_times(
    messages: MessageStore, scope: Scope, clock: FixedClock
) -> None:
    texts = [str(number) for number in range(7)]
    messages.append(said(*texts, timestamp=clock.now()), scope=scope)
    paged: list[object] = []
    before = None
    while page := messages.recent(scope=scope, limit=2, before=before):
        paged = contents(page) + paged
        before = page[0].id
    assert paged == texts
    paged, position = [], 0
    while page := messages.since(scope=scope, position=position, limit=2):
        paged += contents(page)
        position = page[-1].position
    assert paged == texts


@pytest.mark.case(3)
def test_limits(messages: MessageStore, scope: Scope) -> None:
    messages.append(said("a word", "b word", "c word"), scope=scope)
    for limit, expected in ((0, 0), (2, 2), (None, 3), (10**9, 3), (10**30, 3)):
        assert len(messages.recent(scope=scope, limit=limit)) == expected
        assert len(messages.since(scope=scope, position=0, limit=limit)) == expected
    assert messages.search(["word"], scope=scope, limit=0).matches == ()
    assert len(messages.search(["word"], scope=scope, limit=10**9).matches) == 3
    for call in (
        lambda: messages.recent(scope=scope, limit=-1),
        lambda: messages.since(scope=scope, position=0, limit=-1),
        lambda: messages.search(["word"], scope=scope, limit=-1),
        lambda: messages.neighbours([1], scope=scope, radius=-1),
    ):
        with pytest.raises(ConfigError):
            call()


@pytest.mark.case(13)
def test_users_with_the_same_session_do_not_meet(messages: MessageStore) -> None:
    a, b = Scope(user="a", session="main"), Scope(user="b", session="main")
    first = messages.append(said("apple of a"), scope=a)[0]
    messages.append(said("apple of b"), scope=b)
    assert contents(messages.recent(scope=b)) == ["apple of b"]
    assert contents(messages.since(scope=b, position=0)) == ["apple of b"]
    assert [match.id for match in messages.search(["appl"], scope=b, limit=9).matches] == [first.id + 1]
    assert messages.get_many([first.id, first.id + 1], scope=b) == messages.recent(scope=b)
    assert not len(messages.neighbours([first.id], scope=b, radius=5).ids)
    with pytest.raises(NotFoundError):
        messages.get(first.id, scope=b)
    assert messages.delete([first.id], scope=b) == 0
    assert messages.count(scope=a) == 1


@pytest.mark.case(13)
@pytest.mark.parametrize("field", ["user", "session", "agent"])
def test_ids_are_data(messages: MessageStore, field: str) -> None:
    scopes = {name: Scope(**{field: name}) for name in IDS}
    for name, scope in scopes.items():
        messages.append(said(f"word {name}"), scope=scope)
    for name, scope in scopes.items():
        found = messages.recent(scope=scope)
        assert contents(found) == [f"word {name}"]
        assert getattr(found[0], field) == name
        if field != "session":
            assert len(messages.search(["word"], scope=scope, limit=999).matches) == 1
    assert messages.count() == len(IDS)


def test_another_session_of_the_user_is_reached_by_id(messages: MessageStore, scope: Scope) -> None:
    stored = messages.append(said("here"), scope=scope)[0]
    assert messages.get(stored.id, scope=replace(scope, session="elsewhere")).content == "here"
    assert messages.get_many([stored.id], scope=replace(scope, agent="other")) == []


def test_get_many_is_in_order_and_without_repeats(messages: MessageStore, scope: Scope) -> None:
    ids = [message.id for message in messages.append(said(*"abcd"), scope=scope)]
    found = messages.get_many([ids[2], ids[0], ids[2], 10**12, 10**30], scope=scope)
    assert contents(found) == ["a", "c"]
    assert len(messages.get_many([*range(1, 50_000)], scope=scope)) == 4
    assert messages.get_many([], scope=scope) == []


@pytest.mark.case(18)
def test_a_dedupe_key_is_stored_once_for_each_session(messages: MessageStore, scope: Scope) -> None:
    first = messages.append(said("a", dedupe_key="k") + said("b"), scope=scope)
    again = messages.append(said("c") + said("other text", dedupe_key="k"), scope=scope)
    assert again[1] == first[0]
    twice = messages.append(said("d", dedupe_key="x") + said("e", dedupe_key="x"), scope=scope)
    assert twice[0] == twice[1]
    assert contents(messages.recent(scope=scope)) == ["a", "b", "c", "d"]
    assert [message.position for message in messages.recent(scope=scope)] == [1, 2, 3, 4]
    elsewhere = replace(scope, session="s2")
    assert messages.append(said("a", dedupe_key="k"), scope=elsewhere)[0].session == "s2"


def test_appending_nothing_does_nothing(messages: MessageStore, scope: Scope) -> None:
    assert messages.append([], scope=scope) == []
    assert messages.recent(scope=scope) == []


@pytest.mark.case(19)
def test_deleted_messages_are_gone_and_their_ids_and_positions_are_not_given_again(
    messages: MessageStore, scope: Scope
) -> None:
    ids = [message.id for message in messages.append(said("apple a", "apple b", "apple c"), scope=scope)]
    assert messages.delete([ids[1], ids[2], ids[2], 10**9], scope=scope) == 2
    assert messages.delete([ids[1]], scope=scope) == 0
    assert messages.delete([], scope=scope) == 0
    assert contents(messages.recent(scope=scope)) == ["apple a"]
    assert [match.id for match in messages.search(["appl"], scope=scope, limit=9).matches] == [ids[0]]
    with pytest.raises(NotFoundError):
        messages.get(ids[1], scope=scope)
    later = messages.append(said("d"), scope=scope)[0]
    assert later.id > ids[2]
    assert later.position == 4
    assert messages.count(scope=scope) == messages.count() == 2


@pytest.mark.case(30)
def test_times_are_instants(messages: MessageStore, scope: Scope, clock: FixedClock) -> None:
    shanghai = timezone(timedelta(hours=8))
    moment = datetime(2026, 1, 1, 0, 30, 0, 7, shanghai)
    stored = messages.append(said("a", timestamp=moment) + said("b"), scope=scope)
    for found in (stored, messages.recent(scope=scope)):
        assert [message.timestamp for message in found] == [moment, clock.now()]
        assert all(message.timestamp.utcoffset() == timedelta(0) for message in messages.recent(scope=scope))
    with pytest.raises(ConfigError):
        messages.append(said("c", timestamp=datetime(2026, 1, 1)), scope=scope)  # noqa: DTZ001 - what is refused


def test_neighbours_stand_around_a_message_in_its_session(messages: MessageStore, scope: Scope) -> None:
    stored = []
    other = replace(scope, session="s2")
    for number in range(6):
        stored += messages.append(said(f"words {number}"), scope=scope)
        messages.append(said("between"), scope=other)
    ids = [message.id for message in stored]
    placed = messages.neighbours([ids[2]], scope=other, radius=1)
    assert placed.ids.tolist() == ids[1:4]
    assert placed.positions.tolist() == [2, 3, 4]
    assert len(set(placed.sessions.tolist())) == 1
    assert placed.lengths.tolist() == [2, 2, 2]
    assert placed.frequencies.shape == (3, 0)
    assert messages.neighbours([ids[2], ids[3]], scope=scope, radius=0).ids.tolist() == ids[2:4]
    assert messages.neighbours([ids[0], ids[5]], scope=scope, radius=99).ids.tolist() == ids


def test_neighbours_come_with_the_frequencies_of_terms(messages: MessageStore, scope: Scope) -> None:
    here = messages.append(said("plum tea plum", "tea", "nothing of it"), scope=scope)
    there = messages.append(said("plum"), scope=replace(scope, session="s2"))
    placed = messages.neighbours(
        [here[1].id, there[0].id], scope=scope, radius=1, terms=["plum", "gone", "tea"]
    )
    assert placed.ids.tolist() == [message.id for message in (*here, *there)]
    assert placed.frequencies.tolist() == [[2, 0, 1], [0, 0, 1], [0, 0, 0], [1, 0, 0]]
    assert placed.sessions[0] == placed.sessions[1] != placed.sessions[3]
