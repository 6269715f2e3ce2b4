"""The recipe that makes questions of labelled spans gives files that training reads."""

from __future__ import annotations

import gzip
import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from longdoc.readers import load_labelled
from longdoc.types import Span

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def recipe() -> ModuleType:
    found = importlib.util.spec_from_file_location("questions_recipe", ROOT / "data" / "questions.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.fixture
def contracts(tmp_path: Path) -> Path:
    spans = [(8, 12, "Fee"), (0, 3, "Party"), (4, 7, "Party"), (0, 3, "Party")]
    rows = [
        {
            "id": "a",
            "text": "Ann Bob 9.50",
            "lang": "en",
            "spans": [dict(zip(("start", "end", "label"), s, strict=True)) for s in spans],
        },
        {"id": "b", "text": "nothing here", "spans": []},
        {"id": "c", "text": "long " * 40, "spans": []},
    ]
    path = tmp_path / "contracts.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def test_each_label_is_a_question_to_each_document(
    recipe: ModuleType, contracts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "made" / "questions.jsonl"
    recipe.main(["--data", str(contracts), "--output", str(output), "--longest", "100", "--question", "Which {label}?"])
    assert capsys.readouterr().out == "4 questions about 2 documents, 2 with an answer\n"
    documents = load_labelled([output])
    assert [(d.id, d.question, d.answers) for d in documents] == [
        ("a/Fee", "Which Fee?", (Span(8, 12),)),
        ("a/Party", "Which Party?", (Span(0, 3), Span(4, 7))),
        ("b/Fee", "Which Fee?", ()),
        ("b/Party", "Which Party?", ()),
    ]
    assert (documents[0].language, documents[2].language) == ("en", None)
    recipe.main(["--data", str(contracts), "--output", str(output), "--only-present", "--labels", "Fee"])
    assert [d.id for d in load_labelled([output])] == ["a/Fee"]


def test_wrong_words_are_refused(recipe: ModuleType, contracts: Path, tmp_path: Path) -> None:
    for wrong in (["--labels", "Rent"], ["--question", "Which?"]):
        with pytest.raises(SystemExit):
            recipe.main(["--data", str(contracts), "--output", str(tmp_path / "x.jsonl"), *wrong])
    assert not (tmp_path / "x.jsonl").exists()
