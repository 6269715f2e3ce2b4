"""Masked-language-model training: its loss against a slow loop, its determinism, what it leaves, what it refuses."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch

import longdoc as library
from longdoc.api import build_pipeline, pretrain
from longdoc.checkpoints import load_encoder
from longdoc.checkpoints.language_models import load_language_model
from longdoc.errors import ConfigurationError, DataError, UsageError
from longdoc.training.pretraining import PretrainingReport
from longdoc.training.pretraining_data import read_corpus
from longdoc.training.pretraining_masking import IGNORED, Masking
from longdoc.training.progress import TrainingProgress
from longdoc.training.run_layout import BEST_SO_FAR
from longdoc.types import Document, DocumentFailure

pytestmark = pytest.mark.usefixtures("minilm_folder")

TINY: dict[str, Any] = {
    "model": {
        "encoder": {
            "width": 16,
            "layers": 1,
            "heads": 2,
            "feed_forward_width": 32,
            "dropout": 0.0,
            "attention_dropout": 0.0,
            "max_len": 32,
            "position": {"kind": "rotary"},
        }
    },
    "chunking": {"size": 32, "overlap": 8},
    "pretraining": {"batch_tokens": 256, "learning_rate": 0.01, "logging_steps": 1},
    "prediction": {"precision": {"device": "cpu", "dtype": "fp32"}},
}


STRANGE = "\U0001f9ff\U0001faac" * 30
"""The tokenizer knows none of it."""


def documents(count: int = 12, seed: int = 0) -> list[Document]:
    """Each repeats one word of five, so that a hidden one can be guessed from what stands beside it."""
    chance = random.Random(seed)
    words = ("one", "two", "three", "four", "five")
    return [Document(id=str(n), text=" ".join([words[n % 5]] * chance.randrange(20, 90))) for n in range(count)]


def run(
    output: Path,
    *overrides: str,
    train: Iterable[Document] | None = None,
    validation: Iterable[Document] | None = None,
    progress: Any = None,
) -> PretrainingReport:
    config = library.load_config(base=TINY, overrides=overrides)
    given = documents() if train is None else train
    return pretrain(config, output, train_documents=given, validation_documents=validation, progress=progress)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_perplexity_falls_and_the_folder_is_where_fine_tuning_starts(tmp_path: Path) -> None:
    told: list[TrainingProgress] = []
    report = run(tmp_path / "run", "pretraining.num_train_epochs=20", "pretraining.eval_steps=20",
                 validation=documents(5, seed=9), progress=told.append)  # fmt: skip
    logged = lines(tmp_path / "run")
    measured = [line for line in logged if "split" in line]
    assert measured[0]["step"] == 0
    assert [line["step"] for line in measured] == [0, 20, 40, 60, 80]
    assert measured[-1]["perplexity"] < 3 < measured[0]["perplexity"], "less than the five words that there are"
    assert measured[-1]["accuracy"] > 0.5
    assert all(math.isclose(math.exp(line["loss"]), line["perplexity"], rel_tol=1e-9) for line in measured)
    assert len({line["hidden"] for line in measured}) == 1
    steps = [line for line in logged if "split" not in line]
    assert {"step", "epoch", "loss", "learning_rate", "tokens_per_second"} == steps[0].keys()
    assert [line["step"] for line in steps] == list(range(1, report.steps + 1))
    assert steps[-1]["epoch"] == 20.0

    best = min(measured[1:], key=lambda line: line["perplexity"])
    assert (report.best, report.best_step) == (best["perplexity"], best["step"])
    assert report.first == measured[0]["perplexity"]
    assert not (tmp_path / "run" / BEST_SO_FAR.parts[0]).exists()
    assert (told[-1].done, told[-1].total) == (report.steps, report.steps)
    card = (tmp_path / "run" / "README.md").read_text()
    assert "1 layer of width 16, positions rotary; trained from scratch, with the tokenizer of `default`" in card
    assert f"Perplexity {report.best:.2f} after step {report.best_step}" in card
    assert "three" not in card

    tuned = build_pipeline(
        library.load_config(base={"model": {"source": str(tmp_path / "run")}, "chunking": TINY["chunking"]}), ("a", "b")
    )
    stored = load_encoder(tmp_path / "run")
    assert tuned.model.encoder.config == stored.config
    assert stored.config.position.kind == "rotary"
    assert torch.equal(tuned.model.encoder.word.weight, stored.word.weight)
    assert tuned.settings.source == str(tmp_path / "run")


def test_the_loss_of_a_step_is_that_of_a_slow_loop(tmp_path: Path) -> None:
    """A step over the whole corpus, before anything is learned: the mean over all hidden tokens, row by row."""
    run(tmp_path / "start", "pretraining.max_steps=1", "pretraining.batch_tokens=100000",
        "pretraining.learning_rate=1e-12", "pretraining.weight_decay=0")  # fmt: skip
    encoder, head = load_language_model(tmp_path / "start")
    config = library.load_config(base=TINY)
    pipeline = build_pipeline(config, ("a",))
    corpus = read_corpus(documents(), pipeline.tokenizer, pipeline.chunker)
    masking = Masking(config.pretraining, pipeline.tokenizer, encoder.config.vocab_size)
    losses = []
    with torch.no_grad():
        for chunk, owner in zip(corpus.chunks, corpus.owners, strict=True):
            masked = masking.train(chunk, owner, 0)
            ids = torch.from_numpy(masked.chunk.token_ids).long()
            logarithms = torch.log_softmax(head(encoder(ids[None]))[0].double(), -1)
            for place, target in enumerate(masked.targets):
                if target != IGNORED:
                    losses.append(-float(logarithms[place, target]))
    (line,) = lines(tmp_path / "start")
    assert math.isclose(line["loss"], sum(losses) / len(losses), rel_tol=1e-5)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return dict(load_encoder(folder).state_dict())


def test_gradients_do_not_depend_on_the_micro_batches(tmp_path: Path) -> None:
    for name, tokens in (("whole", 100000), ("small", 32)):
        run(tmp_path / name, "pretraining.max_steps=3", f"pretraining.micro_batch_tokens={tokens}",
            "pretraining.weight_decay=0")  # fmt: skip
    one, other = weights(tmp_path / "whole"), weights(tmp_path / "small")
    assert all((tensor - other[name]).abs().max() < 2e-5 for name, tensor in one.items())


def test_a_run_is_the_same_bits_again_and_another_seed_is_not(tmp_path: Path) -> None:
    for name, seed in (("one", 5), ("again", 5), ("other", 6)):
        run(tmp_path / name, "pretraining.max_steps=3", f"pretraining.seed={seed}", "model.encoder.dropout=0.1",
            "pretraining.whole_words=true")  # fmt: skip
    one, again, other = (weights(tmp_path / name) for name in ("one", "again", "other"))
    assert all(torch.equal(tensor, again[name]) for name, tensor in one.items())
    assert not torch.equal(one["word.weight"], other["word.weight"])
    losses = [[line["loss"] for line in lines(tmp_path / name)] for name in ("one", "again")]
    assert losses[0] == losses[1]


def test_training_goes_on_from_what_was_written(tmp_path: Path) -> None:
    first = run(tmp_path / "one", "pretraining.num_train_epochs=2", validation=documents(4, seed=9))
    assert first.new_head
    config = library.load_config(base={key: value for key, value in TINY.items() if key != "model"})
    config = config.model_copy(update={"model": config.model.model_copy(update={"source": str(tmp_path / "one")})})
    second = pretrain(config, tmp_path / "two", train_documents=documents(), validation_documents=documents(4, seed=9))
    assert not second.new_head
    assert math.isclose(second.first, first.best, rel_tol=1e-6), "the same model, the same hidden tokens"
    assert f"trained on from `{tmp_path / 'one'}`" in (tmp_path / "two" / "README.md").read_text().replace("\n", " ")


def test_a_model_folder_of_ours_can_be_trained_on(tmp_path: Path) -> None:
    """Also what was fine-tuned: its encoder is taken, its readout is not."""
    pipeline = build_pipeline(library.load_config(base=TINY), ("a", "b"))
    pipeline.save(tmp_path / "model")
    config = library.load_config(
        base={**TINY, "model": {"source": str(tmp_path / "model")}},
        overrides=["pretraining.max_steps=1", "pretraining.learning_rate=1e-12", "pretraining.weight_decay=0"],
    )
    assert pretrain(config, tmp_path / "run", train_documents=documents()).new_head
    assert torch.allclose(weights(tmp_path / "run")["word.weight"], pipeline.model.encoder.word.weight, atol=1e-6)
    again = build_pipeline(config, ("x", "y", "z"))
    assert again.model.encoder.config == pipeline.model.encoder.config
    assert torch.equal(again.model.encoder.word.weight, pipeline.model.encoder.word.weight)


def test_a_frozen_encoder_stays_and_its_head_learns(tmp_path: Path) -> None:
    run(tmp_path / "one", "pretraining.max_steps=4")
    before, head_before = load_language_model(tmp_path / "one")
    config = library.load_config(
        base={**TINY, "model": {"source": str(tmp_path / "one")}},
        overrides=["pretraining.max_steps=4", "pretraining.freeze=[encoder]"],
    )
    pretrain(config, tmp_path / "two", train_documents=documents())
    after, head_after = load_language_model(tmp_path / "two")
    assert all(torch.equal(tensor, after.state_dict()[name]) for name, tensor in before.state_dict().items())
    assert not torch.equal(head_before.dense.weight, head_after.dense.weight)


def test_what_cannot_be_read_is_left_out_and_counted(tmp_path: Path) -> None:
    given = [*documents(3), Document(id="blank", text=" "), Document(id="odd", text=STRANGE)]
    report = run(tmp_path / "run", train=[*given, DocumentFailure("x", "decode_error")])  # type: ignore[list-item]
    assert report.documents == 3
    assert dict(report.left_out) == {"empty": 1, "unreadable": 1, "decode_error": 1}
    assert "left out: 1 decode_error, 1 empty, 1 unreadable." in (tmp_path / "run" / "README.md").read_text()
    assert math.isnan(report.best)
    assert "There were no validation texts" in (tmp_path / "run" / "README.md").read_text()


def test_the_best_step_so_far_can_be_used_while_the_run_goes_on(tmp_path: Path) -> None:
    seen: list[torch.Tensor] = []

    def look(progress: TrainingProgress) -> None:
        if progress.phase == "validate" and progress.improved:
            seen.append(load_encoder(tmp_path / "run" / BEST_SO_FAR).word.weight)

    report = run(tmp_path / "run", "pretraining.eval_steps=2", "pretraining.max_steps=6",
                 validation=documents(4, seed=9), progress=look)  # fmt: skip
    assert [line["step"] for line in lines(tmp_path / "run") if "split" in line] == [0, 2, 4, 6]
    assert len(seen) >= 2
    assert torch.equal(seen[-1], load_encoder(tmp_path / "run").word.weight)
    assert report.best_step in (2, 4, 6)


def test_a_step_must_hold_a_chunk(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        run(tmp_path / "run", "pretraining.batch_tokens=31")
    assert str(caught.value) == (
        "`pretraining.batch_tokens` must be at least `chunking.size` (32), but is 31 instead. Raise it, or lower "
        "`chunking.size`."
    )
    assert not (tmp_path / "run").exists()


def test_a_corpus_without_a_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        run(tmp_path / "run", train=[Document(id="a", text=" ")])
    assert str(caught.value) == ("pretraining needs at least 1 document that can be read, but none of 1 can: 1 empty.")
    with pytest.raises(DataError, match=r"^validation needs at least 1 document"):
        run(tmp_path / "run", validation=[])
    assert not (tmp_path / "run").exists()


def test_validation_texts_of_which_nothing_is_hidden_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        run(tmp_path / "run", "pretraining.mask_share=1e-9", validation=[Document(id="a", text="word")])
    assert str(caught.value) == (
        "the validation texts must be long enough that a token of theirs is hidden, but have 1 in all. Add some, or "
        "raise `pretraining.mask_share`."
    )
    assert not (tmp_path / "run").exists(), "no step was done"


def test_chunks_that_the_encoder_cannot_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"^`chunking.size` must be at most 32, the positions"):
        run(tmp_path / "run", "model.encoder.position.kind=learned", "chunking.size=64")


def test_a_part_that_is_not_there_cannot_be_frozen(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"^`pretraining.freeze` names 'tail', but the model has no such part"):
        run(tmp_path / "run", "pretraining.freeze=[tail]")
    assert not (tmp_path / "run").exists()


def test_another_model_is_not_trained_over(tmp_path: Path) -> None:
    run(tmp_path / "run", "pretraining.max_steps=1")
    with pytest.raises(UsageError, match=r"^`output` must be a new folder, but .* holds a model already"):
        run(tmp_path / "run", "pretraining.max_steps=1")


def test_positions_with_further_axes_are_given_them(tmp_path: Path) -> None:
    report = run(tmp_path / "run", "pretraining.max_steps=2",
                 "model.encoder.position={kind: stacked, parts: [{kind: rotary}, {kind: depth}]}")  # fmt: skip
    assert report.steps == 2
    assert load_encoder(tmp_path / "run").config.position.kind == "stacked"
