"""Other fields are carried along while they are small, in a form that any JSON writer takes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from longdoc.readers.meta import carry
from reader_kit import QUICK

ANY_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(st.characters()), inner, max_size=5),
    max_leaves=10,
)


def test_small_values_are_kept_and_mapped_ones_are_not() -> None:
    values = {"text": "t", "a": "x", "b": [1, {"c": None}], "d": 2.5, "e": True}
    assert carry(values, {"text"}) == {"a": "x", "b": [1, {"c": None}], "d": 2.5, "e": True}


def test_numbers_that_are_not_finite_become_null() -> None:
    values = {"a": float("nan"), "b": [float("inf"), 1.0]}
    assert carry(values, ()) == {"a": None, "b": [None, 1.0]}


def test_large_deep_and_foreign_values_are_left_out_and_counted() -> None:
    deep: Any = "x"
    for _ in range(2000):
        deep = [deep]
    values = {"a": "x" * 5000, "b": deep, "c": b"bytes", "d": list(range(5000)), "e": 10**5000, "f": "kept"}
    assert carry(values, ()) == {"f": "kept", "left_out": 5}


def test_many_fields_together_stay_small() -> None:
    values = {f"{number:>100}": "x" * 100 for number in range(1000)}
    meta = carry(values, ())
    assert len(json.dumps(meta)) < 10_000
    assert meta["left_out"] + len(meta) - 1 == 1000


@QUICK
@given(st.dictionaries(st.text(st.characters()), ANY_VALUE, max_size=5))
def test_any_record_gives_meta_that_can_be_written(values: dict[str, Any]) -> None:
    written = json.dumps(carry(values, ()), allow_nan=False, ensure_ascii=False).encode("utf-8")
    assert len(written) < 6 * 4096 + 20 * 4096
