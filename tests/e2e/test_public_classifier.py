"""A classifier that somebody fine-tuned with transformers answers long documents as it is: nothing else is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast, pipeline

from family_kit import TINY, reconfigure, saved, their_model
from longdoc.pipeline import Pipeline
from tokenizer_kit import CORPUS

LABELS = {0: "complaint", 1: "question", 2: "praise"}
SHORT = [
    "The quick brown fox jumps over the lazy dog.",
    "Le cœur a ses raisons.",
    "isn't it?",
    "42 o'clock, 中文文本没有空格。",
]
LONG = " ".join(CORPUS * 4)
CHUNKING = {"size": 64, "overlap": 16}


@cache
def tokenizer() -> Tokenizer:
    """As RoBERTa's, ids of the special tokens included."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(CORPUS * 4, trainer)
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return made


def published(family: str, folder: Path, **changes: object) -> Path:
    """A classifier's folder as on a hub: model and tokenizer saved by transformers."""
    specials = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    theirs = their_model(
        family, "classifier", vocab_size=500, num_labels=3, id2label=LABELS, max_position_embeddings=130,
        **specials, **changes,
    )  # fmt: skip
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer(), model_max_length=10**30, bos_token="<s>", eos_token="</s>", cls_token="<s>",
        sep_token="</s>", pad_token="<pad>", unk_token="<unk>", model_input_names=["input_ids", "attention_mask"],
    ).save_pretrained(folder)  # fmt: skip
    return saved(theirs, folder)


VARIANTS = {family: (family, {}) for family in TINY} | {
    "modernbert, mean": ("modernbert", {"classifier_pooling": "mean", "norm_bias": True, "classifier_bias": True}),
    "eurobert, mean": ("eurobert", {"classifier_pooling": "mean"}),
    "eurobert, bos": ("eurobert", {"classifier_pooling": "bos"}),
    "gte without token types": ("gte", {"type_vocab_size": 0}),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_short_texts_get_the_probabilities_of_transformers(variant: str, tmp_path: Path) -> None:
    family, changes = VARIANTS[variant]
    folder = published(family, tmp_path, **changes)
    theirs = pipeline("text-classification", model=str(folder), top_k=None, device="cpu")(SHORT)
    ours = Pipeline.load(folder)
    for expected, found in zip(theirs, ours(SHORT, top_k=None), strict=True):
        assert [item["label"] for item in found] == [item["label"] for item in expected]
        assert [item["score"] for item in found] == pytest.approx([item["score"] for item in expected], abs=1e-5)
    answer = ours.predict([LONG])[0]
    assert answer.n_chunks > 2
    assert answer.tokens_read == answer.n_tokens
    assert {item.label for item in answer.labels} == set(LABELS.values())


def test_the_command_needs_no_other_flag(tmp_path: Path) -> None:
    folder = published("roberta", tmp_path / "model")
    lines = [{"id": f"doc-{number}", "text": text} for number, text in enumerate([*SHORT, LONG])]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, lines)))

    def longdoc(*arguments: str | Path) -> None:
        command = [sys.executable, "-m", "longdoc", *map(str, arguments)]
        environment = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    longdoc("predict", "--model", folder, "--input", tmp_path / "in.jsonl", "--output", tmp_path / "out")
    longdoc("export", tmp_path / "out", tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    expected = Pipeline.load(folder).predict([*SHORT, LONG])
    assert [row["label"] for row in rows] == [answer.label for answer in expected]
    assert [row["score"] for row in rows] == pytest.approx([answer.score for answer in expected], abs=1e-6)


def test_imported_it_stays_a_classifier(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from longdoc.cli import app

    folder = published("roberta", tmp_path / "theirs")
    done = CliRunner().invoke(app, ["import-checkpoint", str(folder), str(tmp_path / "ours")])
    assert done.exit_code == 0
    assert "weights, with a head for 3 labels; in " in done.output
    before, after = Pipeline.load(folder), Pipeline.load(tmp_path / "ours")
    assert [answer.labels for answer in after.predict([*SHORT, LONG])] == [
        answer.labels for answer in before.predict([*SHORT, LONG])
    ]
    assert "trained elsewhere" in (tmp_path / "ours" / "README.md").read_text()


def test_its_chunks_are_chosen_when_it_is_imported(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from longdoc.cli import app

    folder = published("roberta", tmp_path / "theirs")
    (tmp_path / "in.jsonl").write_text('{"id": "a", "text": "good"}\n')
    own = Pipeline.load(folder).settings.chunking
    refused = CliRunner().invoke(
        app,
        ["predict", "--model", str(folder), "--set", "chunking.size=16", "--set", "chunking.overlap=4", "--input",
         str(tmp_path / "in.jsonl"), "--output", str(tmp_path / "out")],
    )  # fmt: skip
    assert refused.exit_code == 2
    assert (
        f"`chunking.size` is {own.size} in this model, and a folder of transformers is taken as it is. Leave it out; "
        "`longdoc import-checkpoint` makes a model of it with another chunking."
    ) in " ".join(refused.output.split())
    given = ["--set", "chunking.size=16", "--set", "chunking.overlap=4"]
    done = CliRunner().invoke(app, ["import-checkpoint", str(folder), str(tmp_path / "ours"), *given])
    assert done.exit_code == 0, done.output
    ours = Pipeline.load(tmp_path / "ours")
    assert ours.settings.chunking == own.model_copy(update={"size": 16, "overlap": 4})
    assert ours.predict([LONG])[0].n_chunks > Pipeline.load(folder).predict([LONG])[0].n_chunks
    too_long = CliRunner().invoke(
        app, ["import-checkpoint", str(folder), str(tmp_path / "other"), "--set", "chunking.size=100000"]
    )
    assert too_long.exit_code == 2
    assert "`chunking.size` must be at most" in too_long.output
    assert not (tmp_path / "other").exists()


def test_an_encoder_without_a_head_has_no_chunks_to_choose(tmp_path: Path, minilm_folder: Path) -> None:
    from typer.testing import CliRunner

    from longdoc.cli import app

    refused = CliRunner().invoke(
        app, ["import-checkpoint", str(minilm_folder), str(tmp_path / "ours"), "--set", "chunking.size=64"]
    )
    assert refused.exit_code == 2
    assert "`chunking` belongs to a model that answers, but this checkpoint is an encoder without a head." in (
        " ".join(refused.output.split())
    )
    assert not (tmp_path / "ours").exists()


def test_its_head_is_where_training_starts_if_the_labels_are_the_same(tmp_path: Path) -> None:
    folder = published("roberta", tmp_path)
    as_it_is = Pipeline.load(folder)
    turned = ("praise", "complaint", "question")
    started = Pipeline.from_checkpoint(folder, labels=turned, chunking=as_it_is.settings.chunking)
    assert started.labels == turned
    texts = [*SHORT, LONG]
    for one, other in zip(as_it_is.predict(texts), started.predict(texts), strict=True):
        assert {item.label: item.score for item in one.labels} == pytest.approx(
            {item.label: item.score for item in other.labels}, abs=1e-6
        )


def test_its_task_comes_with_its_head(tmp_path: Path) -> None:
    folder = published("roberta", tmp_path, problem_type="multi_label_classification")
    as_it_is = Pipeline.load(folder)
    chunking = as_it_is.settings.chunking
    started = Pipeline.from_checkpoint(folder, labels=tuple(LABELS.values()), chunking=chunking)
    assert started.settings.task == "multi_label"
    assert started.predict([LONG])[0].labels == as_it_is.predict([LONG])[0].labels
    asked = Pipeline.from_checkpoint(folder, labels=tuple(LABELS.values()), chunking=CHUNKING, task="single_label")
    assert asked.settings.task == "single_label"
    other = Pipeline.from_checkpoint(folder, labels=("a", "b"), chunking=CHUNKING)
    assert other.settings.task == "single_label"


def test_other_labels_or_another_readout_start_anew(tmp_path: Path) -> None:
    folder = published("roberta", tmp_path)
    theirs = Pipeline.load(folder).model.readout.head.output.weight
    other = Pipeline.from_checkpoint(folder, labels=("a", "b", "c"), chunking=CHUNKING)
    assert other.settings.readout.head.kind == "linear"
    assert not torch.equal(other.model.readout.head.output.weight, theirs)
    asked = {"pooling": "mean", "head": {"kind": "linear"}}
    chosen = Pipeline.from_checkpoint(folder, labels=tuple(LABELS.values()), readout=asked, chunking=CHUNKING)
    assert chosen.settings.readout.head.kind == "linear"
    assert not torch.equal(chosen.model.readout.head.output.weight, theirs)


@pytest.mark.parametrize("named", [{"0": "a", "1": "a"}, {"0": "a", "1": "b"}])
def test_a_head_that_does_not_fit_its_own_labels_is_left_alone(named: dict[str, str], tmp_path: Path) -> None:
    folder = published("bert", tmp_path)
    reconfigure(folder, id2label=named)
    started = Pipeline.from_checkpoint(folder, labels=("a", "b"), chunking=CHUNKING)
    assert started.settings.readout.head.kind == "linear"


def test_a_run_takes_the_head_over_too(tmp_path: Path) -> None:
    from longdoc.api import build_pipeline
    from longdoc.config import load_config

    folder = published("deberta-v2", tmp_path)
    config = load_config(base={"model": {"source": str(folder)}, "chunking": {"size": 64, "overlap": 16}})
    started = build_pipeline(config, sorted(LABELS.values()))
    theirs = Pipeline.load(folder)
    expected = {item.label: item.score for item in theirs.predict(SHORT[:1])[0].labels}
    found = {item.label: item.score for item in started.predict(SHORT[:1])[0].labels}
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("named", [{"0": "a", "2": "b", "3": "c"}, {"0": "a", "1": "a", "2": "b"}, {}])
def test_labels_that_cannot_be_told_apart_are_refused(named: dict[str, str], tmp_path: Path) -> None:
    from longdoc.errors import CheckpointError

    folder = published("bert", tmp_path)
    reconfigure(folder, id2label=named)
    with pytest.raises(CheckpointError, match=r"`id2label` must name .* different labels under the numbers from 0"):
        Pipeline.load(folder)
