"""Words that all messages share."""

from __future__ import annotations

import pytest

from longdoc.errors import on_one_line


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a b/caf\u00e9 \u65e5\u672c\u3000\u8a9e.txt", "a b/caf\u00e9 \u65e5\u672c\u3000\u8a9e.txt"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\x1b[31m\x07\x9b", "\\x1b[31m\\x07\\x9b"),
        ("x\u202ey\u2028z", "x\\u202ey\\u2028z"),
        ("caf\udce9", "caf\\udce9"),
    ],
)
def test_a_name_is_shown_on_one_line_and_steers_nothing(name: str, said: str) -> None:
    assert on_one_line(name) == said
