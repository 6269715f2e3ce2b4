"""JSON as readers take it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longdoc.errors import DocumentError
from longdoc.readers.strict_json import parse_json
from reader_kit import QUICK

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@QUICK
@given(VALUES, st.booleans())
def test_valid_json_comes_back(value: object, ascii_only: bool) -> None:
    assert parse_json(json.dumps(value, ensure_ascii=ascii_only)) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": "secret', "The record is not valid JSON at character 6."),
        ("", "The record is not valid JSON at character 0."),
        ('{"a": 1, "a": 2}', "The record has a key twice in one object."),
        ('{"b": [{"secret": 1, "secret": 2}]}', "The record has a key twice in one object."),
        ('{"n": ' + "9" * 5000 + "}", "The record holds an integer with too many digits."),
    ],
)
def test_faults_are_named_without_their_content(text: str, message: str) -> None:
    with pytest.raises(DocumentError) as refused:
        parse_json(text)
    assert (refused.value.reason, str(refused.value)) == ("unreadable", message)
    assert refused.value.__context__ is None  # a decoding error would carry the whole text along


def test_nesting_never_ends_the_run() -> None:
    with pytest.raises(DocumentError, match=r"^The record is nested too deeply\.$"):
        parse_json("[" * 200_000 + "]" * 200_000)
