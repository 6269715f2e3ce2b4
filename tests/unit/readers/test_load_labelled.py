"""Reading for training and evaluation: everything or nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from longdoc.errors import DataError, DuplicateIdError
from longdoc.readers import load_labelled, source_digest
from longdoc.readers.base import Source
from reader_kit import write


def jsonl(*values: object) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def test_all_documents_in_order(tmp_path: Path) -> None:
    write(tmp_path / "b.jsonl", jsonl({"id": "3", "text": "", "target": 0}))
    write(tmp_path / "a.jsonl", jsonl({"id": "1", "text": "x", "labels": []}, {"id": "2", "text": "y", "spans": []}))
    assert [document.id for document in load_labelled([tmp_path])] == ["1", "2", "3"]


def test_one_error_counts_everything_and_names_ten_places(tmp_path: Path) -> None:
    bad = [{"text": n} for n in range(11)]
    write(tmp_path / "in.jsonl", jsonl({"id": "1", "text": "x", "label": "a"}, *bad, {"id": "2", "text": "y"}))
    with pytest.raises(DataError) as refused:
        load_labelled([tmp_path])
    first, *places, last = str(refused.value).split("\n")
    assert first == "12 of 13 documents cannot be used. Mend or remove them:"
    assert places == [
        f"  in.jsonl:{line} (unreadable: `text` must be a string, but is an integer instead.)" for line in range(2, 12)
    ]
    assert last == "  and 2 more"


def test_documents_without_any_label_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError) as refused:
        load_labelled([write(tmp_path / "in.csv", "text,label\na,x\nb,\n")])
    assert str(refused.value) == ("1 of 2 documents cannot be used. Mend or remove them:\n  in.csv:3 (it has no label)")


def test_two_documents_with_one_id_are_refused_with_both_places(tmp_path: Path) -> None:
    write(
        tmp_path / "a.jsonl", jsonl({"id": "secret", "text": "x", "label": "l"}, {"id": "b", "text": "", "label": "l"})
    )
    write(tmp_path / "b.jsonl", jsonl({"text": "x", "label": "l"}, {"id": "secret", "text": "y", "label": "l"}))
    with pytest.raises(DuplicateIdError) as refused:
        load_labelled([tmp_path])
    assert str(refused.value) == (
        "The documents at a.jsonl:1 and b.jsonl:2 have the same id. Give each one an id of its own."
    )


def test_digests_stand_for_content_and_for_refusals(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "one")
    write(tmp_path / "a.xyz", "one")
    digests = {name: source_digest(Source(tmp_path / name, tmp_path, name)) for name in ("a.txt", "a.xyz", "gone.txt")}
    assert digests["a.txt"] == digests["a.xyz"]
    assert digests["gone.txt"] != digests["a.txt"]
    write(tmp_path / "a.txt", "two")
    assert source_digest(Source(tmp_path / "a.txt", tmp_path, "a.txt")) != digests["a.txt"]


def test_what_prediction_overlooks_is_refused_where_it_counts(tmp_path: Path) -> None:
    rows = [{"id": "P1", "text": "x", "label": 1.0}, {"id": "P2", "text": "y", "label": "a", "target": "z"}]
    write(tmp_path / "in.jsonl", jsonl(*rows, {"id": "P3", "text": None}, {"id": "P4", "text": "y", "label": "a"}))
    with pytest.raises(DataError) as refused:
        load_labelled([tmp_path])
    assert str(refused.value) == (
        "3 of 4 documents cannot be used. Mend or remove them:\n"
        "  in.jsonl:1 (unreadable: `label` must be a string or an integer, but is a number instead.)\n"
        "  in.jsonl:2 (unreadable: `target` must be a number, but is a string instead.)\n"
        "  in.jsonl:3 (unreadable: `text` must be a string, but is null instead.)"
    )
