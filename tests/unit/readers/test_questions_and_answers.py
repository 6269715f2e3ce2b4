"""Questions and their answers in data files: the forms of SQuAD and plain places, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import Dataset

from longdoc.errors import DataError, DocumentError
from longdoc.readers import ReadConfig, load_labelled, load_labelled_table, read_documents
from longdoc.readers.gold import answers
from longdoc.tasks import task_named
from longdoc.types import Document, Span

TEXT = "naïve Ann met 😀 Bob in Rome"
SQUAD = {"text": ["Bob", "Bob in Rome"], "answer_start": [16, 16]}
PLACES = (Span(16, 19), Span(16, 27))


@pytest.mark.parametrize(
    "value",
    [
        SQUAD,
        [{"text": "Bob", "answer_start": 16}, {"text": "Bob in Rome", "answer_start": 16}],
        [{"start": 16, "end": 19}, {"start": 16, "end": 27, "text": "Bob in Rome"}],
        {"start": [16, 16, 16], "end": [19, 27, 19]},
    ],
)
def test_all_forms_say_the_same(value: Any) -> None:
    assert answers(value, "answers", TEXT) == PLACES


@pytest.mark.parametrize("value", [[], {"text": [], "answer_start": []}])
def test_an_empty_list_is_a_document_without_an_answer(value: Any) -> None:
    assert answers(value, "answers", TEXT) == ()
    assert answers(None, "answers", TEXT) is None


WRONG: list[tuple[Any, str]] = [
    ("Bob", "`answers` must be a list of answers, but is a string instead."),
    (["Bob"], "`answers[0]` must be an object, but is a string instead."),
    ({"text": ["Bob"]}, "`answers[0].answer_start` must be an integer, but is null instead."),
    (
        {"text": ["Bob"], "answer_start": [1, 2]},
        "`answers` must be a list of answers or equally long lists, but is not.",
    ),
    ([{"text": 3, "answer_start": 1}], "`answers[0].text` must be a string, but is an integer instead."),
    (
        [{"text": "Bob", "answer_start": 17}],
        "`answers[0].text` must be what stands in the document from character 17 to 20, but is not. Count in "
        "characters (code points), not in bytes, and in the text as it is here.",
    ),
    (
        [{"start": 0, "end": 3, "text": "Ann"}],
        "`answers[0].text` must be what stands in the document from character 0 to 3, but is not. Count in characters "
        "(code points), not in bytes, and in the text as it is here.",
    ),
    (
        [{"text": "", "answer_start": -1}],
        "`answers[0]` must satisfy 0 <= start < end <= 27, but is (-1, -1) instead. A question without an answer has "
        "an empty list.",
    ),
    (
        [{"start": 5, "end": 99}],
        "`answers[0]` must satisfy 0 <= start < end <= 27, but is (5, 99) instead. A question without an answer has an "
        "empty list.",
    ),
]


@pytest.mark.parametrize(("value", "message"), WRONG)
def test_what_is_wrong_is_said_without_the_text(value: Any, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        answers(value, "answers", TEXT)
    assert str(caught.value) == message


def written(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


ROW = {"id": "a", "context": TEXT, "question": "Whom?", "answers": SQUAD, "title": "t"}
MAPPED = ReadConfig.model_validate({"fields": {"text": "context"}})


def check(document: Document) -> None:
    assert (document.text, document.question, document.answers) == (TEXT, "Whom?", PLACES)


def test_every_format_gives_the_same_document(tmp_path: Path) -> None:
    (document,) = load_labelled([written(tmp_path, ROW)], MAPPED)
    check(document)
    assert document.meta["title"] == "t"
    assert not {"question", "answers"} & document.meta.keys()
    pq.write_table(pa.Table.from_pylist([ROW]), tmp_path / "data.parquet")
    check(load_labelled([tmp_path / "data.parquet"], MAPPED)[0])
    cells = [ROW["id"], TEXT, "Whom?", json.dumps(SQUAD).replace('"', '""')]
    line = ",".join(f'"{cell}"' for cell in cells)
    (tmp_path / "data.csv").write_text(f"id,context,question,answers\n{line}\n", encoding="utf-8")
    check(load_labelled([tmp_path / "data.csv"], MAPPED)[0])
    check(load_labelled_table(Dataset.from_list([ROW]), MAPPED)[0])


def test_answers_without_a_question_are_somebody_elses(tmp_path: Path) -> None:
    path = written(tmp_path, {"id": "a", "text": TEXT, "answers": "none of ours", "label": "x"})
    (document,) = load_labelled([path])
    assert (document.answers, document.question, document.label) == (None, None, "x")


def test_training_refuses_what_prediction_reads(tmp_path: Path) -> None:
    bad = ROW | {"id": "b", "answers": {"text": ["Ann"], "answer_start": [0]}}
    without = {"id": "c", "context": TEXT, "question": "Whom?"}
    path = written(tmp_path, ROW, bad, without)
    with pytest.raises(DataError) as caught:
        load_labelled([path], MAPPED)
    assert str(caught.value) == (
        "1 of 3 documents cannot be used. Mend or remove them:\n  data.jsonl:2 (unreadable: `answers[0].text` must be "
        "what stands in the document from character 0 to 3, but is not. Count in characters (code points), not in "
        "bytes, and in the text as it is here.)"
    )
    with pytest.raises(DataError) as caught:  # a question may be all that a task needs; this one needs an answer
        task_named("question_answering").check_gold(load_labelled([written(tmp_path, ROW, without)], MAPPED), ())
    assert str(caught.value) == (
        "`model.task: question_answering` needs the field `answers` in every training document, but 1 of 2 have none "
        "(data.jsonl:2). Map it with `read.fields.answers` or set `model.task`."
    )
    written(tmp_path, ROW, bad, without)
    documents = [record.document for record in read_documents([path], MAPPED)]
    assert [document.question for document in documents] == ["Whom?"] * 3
    assert [document.answers for document in documents] == [PLACES, None, None]
