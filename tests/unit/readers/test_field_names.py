"""Names of columns in messages: words only, since a table without a header begins with somebody's text."""

from __future__ import annotations

import pandas as pd
import pytest

from longdoc.errors import DataError, UsageError
from longdoc.readers import load_labelled, load_labelled_table, table_documents
from longdoc.readers.field_names import is_plain_name, listed
from reader_kit import write


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("label_2.x-y", True),
        ("\u00dcberschrift", True),
        ("n" * 30, True),
        ("n" * 31, False),
        ("Anna Mueller", False),
        ("a\nb", False),
        ("a\n", False),
        ("body(raw)", False),
        ("\udcff", False),
        ("", False),
    ],
)
def test_one_word_of_at_most_thirty_characters_is_shown(name: str, plain: bool) -> None:
    assert is_plain_name(name) is plain


def test_others_are_counted() -> None:
    assert listed(["a", "b c", "d"], 5) == "`a`, `d` and 1 more column whose name is not shown, since it may be text"
    assert listed(["a", "b", "c"], 2) == "`a`, `b` and 1 more"
    assert listed(["a b"], 2, "field", "w") == "1 field whose name is not shown, since it may be text (w)"
    assert listed(["", "a"], 2) == "`a`"  # an index of a table has no name
    assert listed([], 2) == ""


def test_fields_that_may_be_text_are_not_named_where_no_label_is_found(tmp_path) -> None:
    line = '{"text": "t", "kind": "k", "Anna Mueller": "HIV", "Bert Maier": "x"}\n'
    way_out = "Name the one that holds the label: --set read.fields.label=COLUMN (`labels`, `target`, `spans`, or "
    with pytest.raises(DataError) as refused:
        load_labelled([write(tmp_path / "in.jsonl", line)])
    assert str(refused.value).startswith(
        "the one document has no label, from in.jsonl:1 on. Beside its text the first has `kind` and 2 more fields "
        f"whose names are not shown, since they may be text. {way_out}"
    )
    with pytest.raises(DataError) as refused:
        load_labelled_table(pd.DataFrame({"text": ["t"], "Anna Mueller": ["HIV"]}))
    assert "the first has 1 field whose name is not shown, since it may be text. " + way_out in str(refused.value)


def test_columns_of_a_frame_that_may_be_text_are_not_named() -> None:
    with pytest.raises(UsageError) as refused:
        table_documents(pd.DataFrame({"id": [1], "Anna Mueller": ["HIV"]}))
    assert str(refused.value) == (
        "`text_column` must name a column of the table, but there is no `text`. It has `id` and 1 more column whose "
        "name is not shown, since it may be text."
    )
