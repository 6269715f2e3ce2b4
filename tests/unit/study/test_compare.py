"""Strategies side by side: what is compared is what each would do by itself, and the verdict says what follows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score
from typer.testing import CliRunner

import longdoc
from longdoc.api import build_pipeline
from longdoc.cli import app
from longdoc.config import load_config
from longdoc.pipeline import Pipeline
from longdoc.study.compare import compare_strategies
from longdoc.study.comparison import Comparison, Entry, comparison_table
from longdoc.study.paired import paired_test, verdict
from longdoc.study.strategies import STRATEGIES, strategies_for
from longdoc.tasks import task_named
from longdoc.types import Document

pytestmark = pytest.mark.usefixtures("minilm_folder")
TINY = Path(__file__).parents[3] / "configs" / "debug_tiny.yaml"
TRAINING = {"num_train_epochs": 12, "head_learning_rate": 0.03, "per_device_train_batch_size": 8, "learning_rate": 1e-3}


def needles(count: int, first: int, where: str = "middle") -> list[Document]:
    """The label is one word, at the start, or in the middle of a text of several chunks."""
    made = []
    for number in range(first, first + count):
        label = ["fever", "fracture"][number % 2]
        filler = "the patient was seen again and nothing was found " * (4 + number % 3)
        middle = filler + f"{label} {label} {label} . " + filler
        made.append(Document(id=str(number), text=middle if where == "middle" else f"{label} {label} " + filler * 2,
                             label=label))  # fmt: skip
    return made


def maker(task: str = "single_label", labels: tuple[str, ...] = ("fever", "fracture")) -> Any:
    def make(keep: str, readout: Mapping[str, Any] | None) -> Pipeline:
        tree = load_config(TINY, [f"model.task={task}", f"chunking.keep={keep}"]).model_dump(
            mode="json", exclude_unset=True
        )
        if readout is not None:
            tree["model"]["readout"] = dict(readout)
        return build_pipeline(load_config(base=tree | {"training": TRAINING}), labels)

    return make


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory, minilm_folder: Path) -> tuple[Comparison, Path]:
    output = tmp_path_factory.mktemp("compare")
    settings = load_config(base={"training": TRAINING}).training
    parts = needles(32, 0), needles(12, 100), needles(16, 200)
    return compare_strategies(maker(), *parts, output, settings), output


@pytest.mark.slow
def test_every_strategy_has_a_row_and_a_model_that_answers_as_it_was_measured(
    compared: tuple[Comparison, Path],
) -> None:
    found, _ = compared
    assert [entry.name for entry in found.entries] == ["TF-IDF, linear", "TF-IDF, first 510 words"] + [
        strategy.name for strategy in STRATEGIES
    ] + [found.entries[-1].name]
    assert found.entries[-1].by_words
    assert found.entries[-1].name.startswith("TF-IDF + all, ")
    test = needles(16, 200)
    for entry in found.entries[2:]:  # the hybrid, too
        assert entry.folder is not None
        pipe = longdoc.Pipeline.load(entry.folder)
        answers = pipe.predict(test)
        given = np.array([[answer.label == label for label in pipe.labels] for answer in answers])
        assert (given == entry.answers).all(), entry.name
        right = np.mean([answer.label == document.label for answer, document in zip(answers, test, strict=True)])
        assert entry.metrics["accuracy"] == right
        assert pipe.settings.chunking.keep == entry.reads


@pytest.mark.slow
def test_tokens_are_those_that_the_encoder_computes(compared: tuple[Comparison, Path]) -> None:
    found, _ = compared
    for entry in found.entries[2:]:
        pipe = longdoc.Pipeline.load(str(entry.folder))
        chunks = [
            chunk
            for document in needles(16, 200)
            for chunk in pipe.chunker.chunks(pipe.tokenizer.tokenize(document), document)
        ]
        assert entry.tokens == sum(len(chunk) for chunk in chunks), entry.name


@pytest.mark.slow
def test_a_word_in_the_middle_is_found_by_who_reads_all(compared: tuple[Comparison, Path]) -> None:
    found, output = compared
    by_name = {entry.name: entry.metrics["accuracy"] for entry in found.entries}
    assert by_name["TF-IDF, linear"] == 1.0
    assert by_name["head"] < 0.8
    assert by_name["tail"] < 0.8
    assert max(by_name[s.name] for s in STRATEGIES if s.keep == "all") > 0.9
    assert found.test["difference"] > 0.2
    assert found.verdict.startswith("Chunking helps on these documents: use `all, ")
    written = json.loads((output / "comparison.json").read_text())
    assert written["verdict"] == found.verdict
    assert written["documents"] == {"train": 32, "validation": 12, "test": 16}
    assert [row["name"] for row in written["strategies"]] == [entry.name for entry in found.entries]
    table = (output / "table.md").read_text()
    assert table == comparison_table(found)
    assert all(f"| {entry.name} |" in table for entry in found.entries)
    assert "measured on 16 test documents" in table


@pytest.mark.slow
def test_the_hybrid_is_a_model_like_any_other_and_takes_no_part_in_the_test(
    compared: tuple[Comparison, Path],
) -> None:
    found, output = compared
    hybrid = found.entries[-1]
    assert hybrid.folder == output / "models" / "hybrid"
    pipe = longdoc.Pipeline.load(str(hybrid.folder))
    assert pipe.settings.linear is not None
    assert pipe.settings.linear.documents == 12
    assert pipe.settings.linear.train_documents == 32
    alone = [entry for entry in found.entries if entry.name == hybrid.name.removeprefix("TF-IDF + ")]
    assert alone[0].validation == max(e.validation for e in found.entries[2:-1] if e.reads == "all")
    assert hybrid.name not in (found.test["all"], found.test["truncated"])
    assert hybrid.metrics["accuracy"] == 1.0, "the words alone have them all right"


@pytest.mark.slow
def test_label_attention_is_trained_on_tokens_and_measured_by_predicting(compared: tuple[Comparison, Path]) -> None:
    found, _ = compared
    by_name = {entry.name: entry for entry in found.entries}
    attention = by_name["all, label attention"]
    pipe = longdoc.Pipeline.load(str(attention.folder))
    assert pipe.settings.readout.kind == "label_attention"
    assert attention.metrics["accuracy"] > by_name["head"].metrics["accuracy"] + 0.2
    assert attention.tokens == by_name["all, mean"].tokens
    assert found.left_out == {}


@pytest.mark.slow
def test_tokens_that_take_too_much_memory_are_not_tried(tmp_path: Path) -> None:
    settings = load_config(base={"training": TRAINING | {"num_train_epochs": 1, "kept_rows_gb": 0.0001}}).training
    chosen = [strategy for strategy in STRATEGIES if strategy.name in ("head", "all, mean", "all, label attention")]
    found = compare_strategies(maker(), needles(8, 0), needles(4, 50), [], tmp_path, settings, chosen)
    assert [entry.name for entry in found.entries[2:]] == ["head", "all, mean", "TF-IDF + all, mean"]
    assert list(found.left_out) == ["all, label attention"]
    reason = found.left_out["all, label attention"]
    assert re.fullmatch(r"its tokens take 0\.0\d+ GB and `training\.kept_rows_gb` allows 0\.0001", reason)
    assert f"Not tried: all, label attention, since {reason}." in comparison_table(found)


@pytest.mark.slow
def test_test_documents_choose_nothing(tmp_path: Path) -> None:
    """Other test documents, the same models: words, weights, temperatures, everything that is saved."""
    settings = load_config(base={"training": TRAINING | {"num_train_epochs": 2}}).training
    chosen = [strategy for strategy in STRATEGIES if strategy.name in ("head", "all, mean")]
    tests = needles(6, 200), [Document(id="other", text="bruise " * 40, label="fever"), *needles(3, 300)[1:]]
    saved = []
    for number, test in enumerate(tests):
        output = tmp_path / str(number)
        found = compare_strategies(maker(), needles(8, 0), needles(6, 50), test, output, settings, chosen)
        assert found.held_out
        saved.append(
            {
                path.relative_to(output).as_posix(): path.read_bytes()
                for path in sorted((output / "models").rglob("*"))
                if path.name in ("longdoc.json", "model.safetensors", "linear.safetensors")
            }
        )
    assert saved[0] == saved[1]
    assert "models/hybrid/linear.safetensors" in saved[0]
    validated = compare_strategies(maker(), needles(8, 0), needles(5, 70), tests[0], tmp_path / "v", settings, chosen)
    weights = (Path(str(validated.entries[-1].folder)) / "longdoc.json").read_bytes()
    assert weights != saved[0]["models/hybrid/longdoc.json"], "other validation documents would have chosen otherwise"


def entry(name: str, reads: str, validation: float, answers: Any, f1: float, folder: Path | None) -> Entry:
    return Entry(name, reads, validation, {"macro_f1": f1, "rmse": f1}, np.asarray(answers), 100, 1.0, folder)


def test_what_has_no_measure_on_the_validation_documents_is_not_tested_and_no_number_in_json(tmp_path: Path) -> None:
    gold = np.zeros(12, dtype=np.int64)
    answers = np.eye(2, dtype=bool)[gold]
    here, nothing = Path("x"), float("nan")
    entries = [entry("a", "all", nothing, answers, 0.5, here), entry("c", "head", nothing, answers, 0.5, here)]
    task = task_named("single_label")
    assert paired_test(entries, gold, task) == {}
    entries += [entry("b", "all", 0.4, answers, 0.5, here), entry("d", "head", 0.3, answers, 0.5, here)]
    found = paired_test(entries, gold, task)
    assert (found["all"], found["truncated"]) == ("b", "d")
    said = Comparison(task, (1, 1, 12), True, entries, found, "").to_dict()
    assert [row["validation"]["macro_f1"] for row in said["strategies"]] == [None, None, 0.4, 0.3]
    json.dumps(said, allow_nan=False)


def test_the_paired_test_resamples_documents_and_compares_the_best_of_both_kinds() -> None:
    random = np.random.default_rng(0)
    gold = random.integers(0, 2, 60)
    good = np.eye(2, dtype=bool)[np.where(random.random(60) < 0.95, gold, 1 - gold)]
    bad = np.eye(2, dtype=bool)[np.where(random.random(60) < 0.6, gold, 1 - gold)]
    here = Path("x")
    entries = [
        entry("words", "all", 0.99, good, 0.9, None),
        entry("a", "all", 0.9, good, 0.9, here),
        entry("b", "all", 0.8, bad, 0.6, here),
        entry("c", "head", 0.5, bad, 0.6, here),
        entry("d", "tail", 0.4, good, 0.9, here),
    ]
    found = paired_test(entries, gold, task_named("single_label"))
    assert (found["all"], found["truncated"]) == ("a", "c")
    expected = f1_score(gold, good.argmax(1), average="macro") - f1_score(gold, bad.argmax(1), average="macro")
    assert found["difference"] == pytest.approx(expected)
    assert found["interval"][0] < expected < found["interval"][1]
    assert found["p"] < 0.01
    same = paired_test([entries[1], entry("e", "head", 0.5, good, 0.9, here)], gold, task_named("single_label"))
    assert (same["difference"], same["p"]) == (0.0, 1.0)
    assert paired_test(entries[:3], gold, task_named("single_label")) == {}
    errors = random.random(60)
    numbers = [entry("a", "all", 1.0, errors, 1.0, here), entry("c", "head", 2.0, errors + 1.0, 1.4, here)]
    worse = paired_test(numbers, gold, task_named("regression"))
    assert worse["difference"] == pytest.approx(np.sqrt((errors + 1).mean()) - np.sqrt(errors.mean()))
    assert worse["p"] == 0.0


@pytest.mark.parametrize(
    ("p", "difference", "words", "said"),
    [
        (
            0.0049,
            0.1,
            0.2,
            "Chunking helps on these documents: use `a` (macro_f1 0.800 against 0.700, p < 0.01 of `c`).",
        ),
        (0.01, 0.1, 0.2, "Chunking helps on these documents: use `a` (macro_f1 0.800 against 0.700, p = 0.01 of `c`)."),
        (
            0.01,
            -0.1,
            0.2,
            "Chunking does not help on these documents: use `c`, which is better (macro_f1 0.800 against 0.700, "
            "p = 0.01 of it).",
        ),
        (
            0.4,
            0.1,
            0.9,
            "Chunking does not help measurably on these documents: use `c`, which reads less (`a`: macro_f1 0.800 "
            "against 0.700, p = 0.40). By its figure alone, untested, `words` is ahead of both with 0.900: "
            "fine-tune the encoder before you rely on "
            "it.",
        ),
    ],
)
def test_the_verdict_says_what_follows(p: float, difference: float, words: float, said: str) -> None:
    entries = [
        entry("words", "all", 0.9, [], words, None),
        entry("a", "all", 0.8, [], 0.8, Path("x")),
        entry("c", "head", 0.8, [], 0.7, Path("x")),
    ]
    found = {"all": "a", "truncated": "c", "p": p, "difference": difference, "documents": 60}
    assert verdict(entries, found, task_named("single_label")) == said
    assert verdict(entries, {}, task_named("single_label")).startswith("Nothing follows")


def test_fewer_than_ten_documents_decide_nothing() -> None:
    """Two documents that only one of two models got right made p = 0.00 and an interval from 1 to 1."""
    gold = np.array([0, 1])
    right = np.eye(2, dtype=bool)
    entries = [
        entry("a", "all", 0.9, right, 1.0, Path("x")),
        entry("c", "head", 0.5, ~right, 0.0, Path("x")),
    ]
    found = paired_test(entries, gold, task_named("single_label"))
    assert (found["documents"], found["interval"], found["p"]) == (2, None, 0.0)
    said = verdict(entries, found, task_named("single_label"))
    assert said.startswith("Chunking does not help measurably")
    assert said.endswith(" That is 2 documents: too few to know.")


def test_a_hybrid_that_is_ahead_can_be_used() -> None:
    entries = [
        entry("a", "all", 0.8, [], 0.8, Path("x")),
        entry("c", "head", 0.8, [], 0.7, Path("x")),
        replace(entry("both", "all", 0.9, [], 0.85, Path("x")), by_words=True),
    ]
    found = {"all": "a", "truncated": "c", "p": 0.01, "difference": 0.1, "documents": 60}
    said = verdict(entries, found, task_named("single_label"))
    assert said.endswith(
        " By its figure alone, untested, `both` is ahead of both with 0.850: a model that can be used as it is."
    )


@pytest.mark.slow
def test_a_regression_has_no_words_and_no_probabilities_to_merge(tmp_path: Path) -> None:
    assert "all, noisy-or of scores" not in [strategy.name for strategy in strategies_for(task_named("regression"))]
    documents = [Document(id=str(n), text="word " * (5 + 9 * n), target=float(n)) for n in range(8)]
    settings = load_config(base={"training": TRAINING | {"num_train_epochs": 1}}).training
    chosen = [strategy for strategy in STRATEGIES if strategy.name in ("head", "all, mean")]
    found = compare_strategies(maker("regression", ("value",)), documents, documents, [], tmp_path, settings, chosen)
    assert [e.name for e in found.entries] == ["head", "all, mean"]
    assert not found.held_out
    assert "which also chose the epochs: the numbers flatter" in comparison_table(found)
    errors = [
        (answer.value - document.target) ** 2
        for answer, document in zip(longdoc.Pipeline.load(str(found.entries[1].folder)).predict(documents), documents,
                                    strict=True)
    ]  # fmt: skip
    assert found.entries[1].answers == pytest.approx(errors)


@pytest.mark.slow
def test_grades_are_compared_by_kappa_and_the_words_are_added_to_their_thresholds(tmp_path: Path) -> None:
    grades = ("low", "middle", "high")
    made = [
        Document(id=str(n), text=f"{grades[n % 3]} " * 9 + "the patient was seen " * (n % 5), label=grades[n % 3])
        for n in range(30)
    ]
    settings = load_config(base={"training": TRAINING | {"num_train_epochs": 2}}).training
    chosen = [strategy for strategy in STRATEGIES if strategy.name in ("head", "all, mean")]
    found = compare_strategies(maker("ordinal", grades), made[:15], made[15:24], made[24:], tmp_path, settings, chosen)
    assert found.entries[0].metrics["quadratic_weighted_kappa"] == 1.0, "TF-IDF"
    hybrid = longdoc.Pipeline.load(str(found.entries[-1].folder))
    answers = hybrid.predict(made[24:])
    assert [len(answer.logits) for answer in answers] == [2] * 6
    assert [answer.label for answer in answers] == [document.label for document in made[24:]]
    header = comparison_table(found).splitlines()[0]
    assert header == "| strategy | quadratic weighted kappa | mae | accuracy | tokens | seconds |"


@pytest.mark.slow
def test_the_command_writes_table_json_and_figure(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need the extra `plots`")
    for name, count, first in (("train", 8, 0), ("valid", 4, 50)):
        rows = [{"id": d.id, "text": d.text, "label": d.label} for d in needles(count, first)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = [
        "compare", "--config", str(TINY), "--set", "training.num_train_epochs=1", "--data",
        str(tmp_path / "train.jsonl"), "--output", str(tmp_path / "out"),
    ]  # fmt: skip
    refused = CliRunner().invoke(app, arguments)
    assert refused.exit_code == 2
    assert "`--validation` must name at least one file, but is missing." in refused.output
    done = CliRunner().invoke(app, [*arguments, "--validation", str(tmp_path / "valid.jsonl")])
    assert done.exit_code == 0, done.output
    assert "| all, attention |" in done.output
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "comparison.json", "table.md", "figure.png", "figure.svg", "models",
    }  # fmt: skip
