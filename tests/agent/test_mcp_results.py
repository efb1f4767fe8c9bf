"""Names, schemas and results of MCP servers, whatever they hold."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import CallToolResult, TextContent
from mcp_types import Tool as ServerTool

from orca.agent.mcp_results import MAX_DESCRIPTION, description, parameters, result_text, tool_name
from orca.errors import ToolError

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=100)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(ANYTHING, st.lists(ANYTHING, max_size=8, unique=True))
def test_names_are_what_apis_take_unique_and_always_the_same(server, names):
    def named() -> list[str]:
        taken: list[str] = []
        for name in names:
            taken.append(tool_name(server, name, taken=taken))
        return taken

    found = named()
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in found)
    assert len(set(found)) == len(names)
    assert named() == found


def test_a_plain_name_stays_readable():
    assert tool_name("files", "read-file_2") == "files__read-file_2"
    assert tool_name("files", "read.file") == "files__read_file"


def test_a_name_that_is_listed_twice_is_told_so_in_the_end():
    taken = [tool_name("files", "same")]
    while len(taken) < 8:
        taken.append(tool_name("files", "same", taken=taken))
    with pytest.raises(ToolError, match="more than once"):
        tool_name("files", "same", taken=taken)


@given(ANYTHING)
def test_descriptions_are_bounded_text(said):
    found = description(ServerTool(name="t", description=said * 100, input_schema={"type": "object"}))
    found.encode("utf-8")
    assert len(found) < MAX_DESCRIPTION + 100
    assert "\x1b" not in found


def test_a_tool_without_a_description_is_described_by_its_title_or_name():
    assert description(ServerTool(name="t", title="The tool", input_schema={})) == "The tool"
    assert description(ServerTool(name="t", input_schema={})) == "t"


@given(st.dictionaries(st.text(max_size=8).filter(lambda key: key != "type"), JSON, max_size=4))
def test_schemas_are_passed_through(schema):
    found = parameters(ServerTool(name="t", input_schema=schema))
    assert found == {"type": "object", "properties": {}, **schema}
    json.dumps(found).encode("utf-8")


@pytest.mark.parametrize("schema", [{"type": "string"}, {"type": ["object"]}, {"x": "y" * 20_000}])
def test_schemas_that_no_model_can_be_given_are_refused(schema):
    with pytest.raises(ToolError):
        parameters(ServerTool(name="t", input_schema=schema))


def test_a_schema_that_is_nested_without_end_is_refused():
    schema: dict[str, object] = {}
    for _ in range(5_000):
        schema = {"a": schema}
    with pytest.raises(ToolError, match="nested"):
        parameters(ServerTool.model_construct(name="t", input_schema=schema))


@given(JSON)
def test_structured_content_that_is_repeated_as_text_is_said_once(value):
    text = TextContent(text=json.dumps(value, indent=2))
    once = result_text(CallToolResult(content=[text], structured_content=value))
    wrapped = result_text(CallToolResult(content=[text], structured_content={"result": value}))
    assert json.loads(once) == value
    assert json.loads(wrapped) == value


@given(JSON.filter(lambda value: value is not None))
def test_structured_content_without_text_is_json(value):
    assert json.loads(result_text(CallToolResult(content=[], structured_content=value))) == value
