"""What a field may hold, and the sentence where it holds something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from longdoc.errors import DocumentError
from longdoc.readers import gold
from longdoc.types import LabelledSpan

RIGHT: list[tuple[Callable[..., Any], Any, Any]] = [
    (gold.string, None, None),
    (gold.string, "", None),
    (gold.string, "a", "a"),
    (gold.string, 7, "7"),
    (gold.string, -1, "-1"),
    (gold.string, True, "true"),
    (gold.identifier, 7.0, "7.0"),
    (gold.identifier, float("nan"), None),
    (gold.identifier, "007", "007"),
    (gold.strings, None, None),
    (gold.strings, [], ()),
    (gold.strings, ["b", "a", "b"], ("b", "a")),
    (gold.strings, [1, "x"], ("1", "x")),
    (gold.number, None, None),
    (gold.number, 3, 3.0),
    (gold.number, -0.5, -0.5),
    (lambda v, n: gold.spans(v, n, 9), None, None),
    (lambda v, n: gold.spans(v, n, 9), [], ()),
    (lambda v, n: gold.spans(v, n, 9), [{"start": 0, "end": 9, "label": "x", "code": 3}], (LabelledSpan(0, 9, "x"),)),
    (
        lambda v, n: gold.spans(v, n, 9),
        {"start": [0, 1], "end": [1, 2], "label": ["x", 5]},
        (LabelledSpan(0, 1, "x"), LabelledSpan(1, 2, "5")),
    ),
]


@pytest.mark.parametrize(("read", "value", "expected"), RIGHT)
def test_right_values(read: Callable[..., Any], value: Any, expected: Any) -> None:
    assert read(value, "field") == expected


def span(**changes: Any) -> list[dict[str, Any]]:
    return [{"start": 0, "end": 1, "label": "x"}, {"start": 2, "end": 5, "label": "x", **changes}]


SPANS = "`f[1]` must satisfy 0 <= start < end <= 9, but is ({}, {}) instead."
WRONG: list[tuple[Callable[..., Any], Any, str]] = [
    (gold.string, 1.5, "`f` must be a string or an integer, but is a number instead."),
    (gold.string, ["secret"], "`f` must be a string or an integer, but is a list instead."),
    (gold.string, 10**5000, "`f` is an integer of too many digits."),
    (gold.identifier, {"secret": 1}, "`f` must be a string or an integer, but is an object instead."),
    (gold.strings, "secret", "`f` must be a list of strings, but is a string instead."),
    (gold.strings, ["a", None], "`f[1]` must be a string that is not empty, but is not."),
    (gold.strings, ["a", 1.5], "`f[1]` must be a string or an integer, but is a number instead."),
    (gold.number, "secret", "`f` must be a number, but is a string instead."),
    (gold.number, True, "`f` must be a number, but is a boolean instead."),
    (gold.number, float("nan"), "`f` must be a finite number, but is not."),
    (gold.number, float("inf"), "`f` must be a finite number, but is not."),
    (gold.number, 10**400, "`f` must be a finite number, but is not."),
    (gold.spans, "secret", "`f` must be a list of spans, but is a string instead."),
    (gold.spans, ["secret"], "`f[0]` must be an object, but is a string instead."),
    (gold.spans, span(start=5), SPANS.format(5, 5)),
    (gold.spans, span(start=3, end=2), SPANS.format(3, 2)),
    (gold.spans, span(start=0, end=999), SPANS.format(0, 999)),
    (gold.spans, span(start=-1), SPANS.format(-1, 5)),
    (gold.spans, span(end=10**5000), SPANS.format(2, "more than 64 bits")),
    (gold.spans, span(start=None), "`f[1].start` must be an integer, but is null instead."),
    (gold.spans, span(end=5.0), "`f[1].end` must be an integer, but is a number instead."),
    (gold.spans, span(start=False), "`f[1].start` must be an integer, but is a boolean instead."),
    (gold.spans, span(label=None), "`f[1].label` must be a string that is not empty, but is not."),
    (gold.spans, {"start": [1], "end": [2, 3]}, "`f` must be a list of spans or equally long lists, but is not."),
    (gold.spans, {"start": 1}, "`f` must be a list of spans or equally long lists, but is not."),
]


@pytest.mark.parametrize(("read", "value", "message"), WRONG, ids=range(len(WRONG)))
def test_wrong_values(read: Callable[..., Any], value: Any, message: str) -> None:
    arguments = (value, "f", 9) if read is gold.spans else (value, "f")
    with pytest.raises(DocumentError) as refused:
        read(*arguments)
    assert (refused.value.reason, str(refused.value)) == ("unreadable", message)
