"""Tables through the whole way: into predictions and training, and results back into a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pyarrow as pa
import pytest

import longdoc
from longdoc.errors import UsageError
from longdoc.jobs.rows import PARQUET_SCHEMA
from longdoc.pipeline import Pipeline

CONFIG = Path(__file__).parents[3] / "configs" / "debug_tiny.yaml"
TEXTS = ["the contract binds the tenant " * 9, "a letter of thanks", "public notice " * 30]
FRAME = pd.DataFrame({"name": ["x", "y", "z"], "body": TEXTS, "kind": ["contract", "letter", "notice"]})


@pytest.mark.parametrize(
    "make",
    [lambda f: f, pa.Table.from_pandas, datasets.Dataset.from_pandas],
    ids=["pandas", "arrow", "dataset"],
)
def test_a_table_is_predicted_as_its_texts_are(tiny_pipeline: Pipeline, make: Any) -> None:
    expected = tiny_pipeline.predict(TEXTS)
    table = make(FRAME)
    assert tiny_pipeline.predict(table, text_column="body") == expected
    assert list(tiny_pipeline.stream(table, "body")) == expected
    named = make(FRAME.rename(columns={"name": "id", "body": "text"}))
    assert [result.id for result in tiny_pipeline.predict(named)] == ["x", "y", "z"]


def test_calling_takes_tables_too(tiny_pipeline: Pipeline) -> None:
    assert tiny_pipeline(FRAME.rename(columns={"body": "text"})) == tiny_pipeline(TEXTS)


def test_a_column_of_texts_is_a_list_of_texts(tiny_pipeline: Pipeline) -> None:
    assert tiny_pipeline.predict(FRAME["body"]) == tiny_pipeline.predict(TEXTS)


def test_a_column_is_for_tables(tiny_pipeline: Pipeline) -> None:
    with pytest.raises(UsageError) as caught:
        tiny_pipeline.predict(TEXTS, text_column="body")
    assert str(caught.value) == (
        "`text_column` belongs to tables, but `documents` is none. Leave it out, or pass a data frame, an Arrow table "
        "or a dataset."
    )
    with pytest.raises(UsageError, match=r"^`text_column` must name a column of the table, but there is no `text`\."):
        tiny_pipeline.stream(FRAME)


def test_results_become_a_table_with_a_jobs_columns(tiny_pipeline: Pipeline) -> None:
    results = tiny_pipeline.predict([*TEXTS, " "])
    table = longdoc.to_table(iter(results))
    assert table.schema == PARQUET_SCHEMA
    table.validate(full=True)
    rows = table.to_pylist()
    assert [row["id"] for row in rows] == ["0", "1", "2", "3"]
    assert [row["status"] for row in rows] == ["ok", "ok", "ok", "failed"]
    assert (rows[3]["reason"], rows[3]["stage"]) == ("empty", "tokenize")
    shown = results[0].to_dict()
    assert {name: rows[0][name] for name in shown if name != "labels"} == {
        k: v for k, v in shown.items() if k != "labels"
    }
    assert [(item["label"], item["score"]) for item in rows[0]["labels"]] == [
        (item["label"], item["score"]) for item in shown["labels"]
    ]
    assert table.to_pandas()["n_tokens"].tolist() == [result.n_tokens for result in results]
    assert longdoc.to_table([]).num_rows == 0


def test_labelled_frames_are_trained_on(tmp_path: Path) -> None:
    config = longdoc.load_config(CONFIG, ["training.num_train_epochs=1", "read.fields={text: body, label: kind}"])
    frame = pd.concat([FRAME] * 2)
    from_frame = longdoc.train(config, train_documents=frame, validation_documents=pa.Table.from_pandas(FRAME))
    documents = [longdoc.Document(id=str(n), text=row.body, label=row.kind) for n, row in enumerate(frame.itertuples())]
    from_documents = longdoc.train(config, train_documents=documents, validation_documents=documents[:3])
    assert from_frame.labels == ("contract", "letter", "notice")
    assert [r.logits for r in from_frame.predict(TEXTS)] == [r.logits for r in from_documents.predict(TEXTS)]  # type: ignore[union-attr]


def test_frames_are_learned_from_without_labels(tmp_path: Path) -> None:
    config = longdoc.load_config(CONFIG, ["pretraining.max_steps=1", "read.fields.text=body"])
    assert longdoc.pretrain(config, tmp_path / "one", train_documents=FRAME).documents == 3
    assert longdoc.pretrain(config, tmp_path / "two", train_documents=TEXTS).documents == 3
