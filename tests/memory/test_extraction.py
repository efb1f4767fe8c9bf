"""A model's reply is repaired where it can be, and refused with a reason where it cannot."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orca.errors import ProviderResponseError
from orca.memory.extraction import SCHEMA, Extraction, parse

ITEM = {
    "action": "add",
    "id": None,
    "content": "用户只吃素, [真的] {ok}",
    "kind": "preference",
    "speaker": "user",
    "message_ids": [1],
}
GOOD = json.dumps({"memories": [ITEM]}, ensure_ascii=False)
TWO = json.dumps({"memories": [ITEM, {**ITEM, "content": "second"}]}, ensure_ascii=False)


@pytest.mark.case(22)
@pytest.mark.parametrize(
    "reply",
    [
        GOOD, f"```json\n{GOOD}\n```", f"```\n{GOOD}", f"Here is [the] result:\n{GOOD}\nHope {{this}} helps!", GOOD.replace("}]}", "},]}"),
        GOOD.replace("[1]}", "[1],}"), json.dumps([ITEM]), TWO[: TWO.index("second")], TWO[:-2], GOOD[:-1], GOOD[:-2],
        f"<think>maybe {{}}</think>{GOOD}", GOOD.replace('"preference"', '" Preference "'), GOOD.replace("[1]", '"1"'), GOOD.replace("[1]", '["[1]"]'),
        GOOD.replace('"message_ids"', '"extra": 5, "message_ids"'), "\ufeff" + GOOD,
    ],
)  # fmt: skip
def test_a_reply_in_another_dress_is_read(reply: str) -> None:
    first = parse(reply).memories[0]
    assert (first.content, first.kind, first.message_ids) == (ITEM["content"], "preference", [1])


@pytest.mark.case(22)
@pytest.mark.parametrize(
    "reply",
    ["", "   ", "I found nothing.", "{", "[1, 2]", '{"memories": 5}', '{"memories": [5]}', '{"memories": [{"kind": "gossip"}]}', "null", '"text"',
     '{"memories": [{"content": ["a"]}]}', GOOD[:20], json.dumps({"memories": [{**ITEM, "content": "x" * 1000}]}), "[" * 3000],
)  # fmt: skip
def test_a_reply_that_cannot_be_used_says_why(reply: str) -> None:
    with pytest.raises(ProviderResponseError) as caught:
        parse(reply)
    assert len(str(caught.value)) > 10


def test_nothing_to_remember_is_a_good_reply() -> None:
    assert parse('{"memories": []}').memories == []
    assert parse("[]").memories == []


@given(st.text(max_size=200))
def test_any_reply_is_read_or_refused(reply: str) -> None:
    with contextlib.suppress(ProviderResponseError):
        assert isinstance(parse(reply), Extraction)


@given(st.integers(0, len(TWO)))
def test_a_reply_cut_off_anywhere_keeps_its_whole_entries(length: int) -> None:
    whole = TWO.index("}, {") + 1 if "}, {" in TWO else 0
    try:
        found = len(parse(TWO[:length]).memories)
    except ProviderResponseError:
        found = 0
    assert found == (0 if length < whole else 2 if length >= len(TWO) - 2 else 1)


def test_the_schema_is_strict() -> None:
    item = SCHEMA["properties"]["memories"]["items"]
    assert sorted(item["required"]) == sorted(item["properties"])
    assert item["additionalProperties"] is False
