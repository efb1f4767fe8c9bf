"""Tools made of functions, their schemas, their names, and the text of what they return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orca.agent.chunks import ReplyBuilder
from orca.agent.handles import Handles
from orca.agent.step_loop import merged_user_messages
from orca.agent.tools import Tool, ToolBox, ToolContext, bounded, result_text, tool
from orca.errors import ConfigError, ToolError
from orca.testing import chunk
from orca.text.reasoning import split_reasoning
from orca.types import Scope


class Place(pydantic.BaseModel):
    city: str


@dataclass
class Weather:
    degrees: float


def test_a_function_becomes_a_tool():
    @tool
    def weather(
        place: Place,
        context: ToolContext,
        unit: Literal["C", "F"] = "C",
        days: Annotated[int, pydantic.Field(ge=1, description="How many days.")] = 1,
    ) -> Weather:
        """Say how the weather will be."""
        return Weather(20.0)

    assert (weather.name, weather.description) == ("weather", "Say how the weather will be.")
    properties = weather.parameters["properties"]
    assert set(properties) == {"place", "unit", "days"}
    assert properties["days"]["description"] == "How many days."
    assert weather.parameters["required"] == ["place"]
    assert weather.parameters["additionalProperties"] is False


def test_parameters_may_have_any_name():
    @tool
    def post(json: dict, schema: str = "x", model_config: int = 1, title: str = "t") -> str:
        """Send."""
        return f"{json} {schema} {model_config} {title}"

    assert list(post.parameters["properties"]) == ["json", "schema", "model_config", "title"]
    context = ToolContext(scope=Scope(), memory=None, handles=Handles())
    assert post.handler({"json": {"a": 1}, "title": "T"}, context) == "{'a': 1} x 1 T"
    with pytest.raises(ToolError, match="json: Field required"):
        post.handler({}, context)


def test_a_type_that_is_not_there_at_run_time_is_refused():
    def late(x: "Nowhere") -> str:  # noqa: F821, UP037 - a name that nobody defines is what is tested
        return ""

    with pytest.raises(ConfigError, match="Nowhere"):
        tool(late)


def test_a_function_without_types_is_refused():
    with pytest.raises(ConfigError, match="'where'"):

        @tool
        def untyped(where):
            return where

    with pytest.raises(ConfigError, match="'more'"):

        @tool
        def many(*more: str) -> str:
            return ""


@pytest.mark.parametrize("name", ["", "a b", "工具", "x" * 65, "a.b"])
def test_names_that_the_apis_refuse_are_refused_here(name):
    with pytest.raises(ConfigError):
        Tool(name=name, description="", parameters={}, handler=lambda arguments, context: None)


def test_plain_functions_are_taken_and_keep_their_order():
    def beta(x: int) -> int:
        return x

    def alpha(x: int) -> int:
        return x

    box = ToolBox([beta, alpha])
    assert box.names == ("beta", "alpha")
    assert len(box) == 2
    assert box.get("gamma") is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        ("", "(empty)"),
        (None, "(no result)"),
        (3, "3"),
        ([1, {"名": "值"}], '[1,{"名":"值"}]'),
        (Weather(2.5), '{"degrees":2.5}'),
        (Place(city="杭州"), '{"city":"杭州"}'),
        (float("nan"), "null"),
    ],
)
def test_values_as_text(value, text):
    assert result_text(value) == text


@given(st.text(max_size=300), st.integers(1, 100))
def test_bounded_text_keeps_its_beginning_and_says_what_is_missing(text, limit):
    short = bounded(text, limit)
    assert short == text if len(text) <= limit else short.startswith(text[:limit])
    assert len(short) <= max(limit, 0) + 60


@given(
    st.lists(
        st.sampled_from(["<think>", "</think>", "<thin", "k>", "a", "\n", " ", "<", "你好"]), max_size=12
    )
)
def test_pieces_say_what_the_whole_reply_says(parts):
    """Whatever the chunks, live pieces and the final reply agree, but for blanks around them."""
    builder = ReplyBuilder("m")
    pieces = [piece for part in parts for piece in builder.take(chunk({"content": part}))]
    pieces += builder.rest()
    whole = "".join(parts)
    said = "".join(piece.text for piece in pieces if piece.kind == "text")
    # A block that the chat template opened is known by its end alone, when its words have been said already.
    if whole.lstrip().startswith("<think>") or "</think>" not in whole:
        assert said.strip() == split_reasoning(whole)[0].strip()


def user(content, **fields):
    return {"role": "user", "content": content, **fields}


def test_user_messages_in_a_row_are_joined():
    parts = [{"type": "text", "text": "c"}]
    messages = [
        user("a"),
        user("b"),
        {"role": "assistant", "content": "x"},
        user(parts),
        user("d"),
        user("e", name="n"),
    ]
    assert merged_user_messages(messages) == [user("a\n\nb"), *messages[2:]]
