"""Values on their way into JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orca.errors import ConfigError
from orca.text.jsonable import MAX_DEPTH, to_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_json_values_come_back_equal(value):
    assert json.loads(to_json(value, where="metadata")) == value


@given(st.sets(st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False)))
def test_sets_have_one_order(value):
    assert to_json(value, where="x") == to_json({*sorted(value, key=repr)}, where="x")


@pytest.mark.case(14)
@pytest.mark.parametrize("value", [object(), {"a": {"b": [1, object()]}}, {1: "a"}, {("a", 1): 2}, 1j])
def test_what_has_no_conversion_is_named(value):
    with pytest.raises(ConfigError, match="metadata"):
        to_json(value, where="metadata")


@pytest.mark.case(14)
def test_endless_nesting_is_refused():
    value: list[object] = []
    value.append(value)
    with pytest.raises(ConfigError, match=str(MAX_DEPTH)):
        to_json(value, where="metadata")


@pytest.mark.case(8)
def test_lone_surrogates_are_replaced_in_keys_and_values():
    assert json.loads(to_json({"k\ud800": ["v\udc00"]}, where="x")) == {"k\ufffd": ["v\ufffd"]}
