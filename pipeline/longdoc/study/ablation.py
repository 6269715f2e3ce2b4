"""Position encodings side by side: the same small encoder from scratch, on tasks where order may or must matter.

Two synthetic tasks have the same bag of tokens for every label, so an encoder without position can only guess. What
decides is said several times in a row, which lets small encoders learn it in minutes. Trained at one length, each
encoder is then tested at longer ones, as it is and with each way of extending it.

Shape letters: N rows, L length, C classes.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from longdoc.checkpoints import resolve_checkpoint
from longdoc.checkpoints.surgery import lengthen_positions
from longdoc.nn import Encoder, EncoderConfig
from longdoc.nn.position import LearnedConfig, PositionConfig, RotaryConfig
from longdoc.nn.position.scaling import DynamicScaling, LinearScaling, YarnScaling
from longdoc.readers import load_labelled
from longdoc.schema import Config
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.types import Document

__all__ = [
    "KINDS",
    "SYNTHETIC",
    "AblationConfig",
    "Rows",
    "ablate",
    "ablation_table",
    "chance",
    "distances",
    "extensions",
    "interval",
    "roles",
    "run_kind",
]

KINDS = ("none", "learned", "sinusoidal", "weighted", "rotary", "alibi", "shaw", "buckets")
"""The kinds that are compared, by their word in a configuration."""

_FILLERS = 40
_EVENTS, _ROOM = 6, 16
_FIRST, _SECOND, _VERB, _MARKS = 0, 1, 2, 3
_START = _MARKS + _EVENTS
VOCABULARY = _START + 1 + _FILLERS


@dataclass(frozen=True)
class Rows:
    """Rows of tokens with one label each. `valid` is None where every row is full."""

    token_ids: Tensor
    labels: Tensor
    valid: Tensor | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def batches(self, size: int, order: Tensor | None = None) -> Iterator[Rows]:
        order = torch.arange(len(self)) if order is None else order
        for members in torch.split(order, size):
            yield Rows(
                self.token_ids[members], self.labels[members], None if self.valid is None else self.valid[members]
            )


@dataclass(frozen=True)
class AblationConfig:
    """The encoder and its training; the same for every kind."""

    width: int = 64
    layers: int = 2
    heads: int = 4
    trained_length: int = 128
    steps: int = 600
    batch: int = 16
    learning_rate: float = 2e-3
    test_rows: int = 400
    longer_tokens: int = 100_000
    """Tokens of a test at a longer length; `test_rows` rows at most."""

    def rows_at(self, length: int) -> int:
        """Rows of a synthetic test at a length."""
        return self.test_rows if length <= self.trained_length else min(self.test_rows, self.longer_tokens // length)


Task = Callable[[np.random.Generator, int, int], Rows]


def roles(generator: np.random.Generator, rows: int, length: int) -> Rows:
    """Who did it to whom: two names around a verb, in either order, several times anywhere among fillers.

    Label 0: the first name acts (stands before the verb) each time; label 1: it is acted on each time.
    """
    tokens = _fillers(generator, rows, length)
    labels = generator.integers(0, 2, rows)
    for row, label in enumerate(labels):
        names = (_FIRST, _SECOND) if label == 0 else (_SECOND, _FIRST)
        for start, end in _places(generator, length):
            first, second = np.sort(generator.choice(min(6, end - start - 1), 2, replace=False)) + 1
            at = generator.integers(start, end - second)
            tokens[row, [at, at + first, at + second]] = names[0], _VERB, names[1]
    return Rows(torch.from_numpy(tokens), torch.from_numpy(labels))


def distances(generator: np.random.Generator, rows: int, length: int) -> Rows:
    """How far apart two equal marks stand: 1, 2, 3 to 4, 5 to 8 or 9 to 15 tokens; pairs of several marks anywhere."""
    tokens = _fillers(generator, rows, length)
    labels = generator.integers(0, 5, rows)
    for row, label in enumerate(labels):
        low, high = 2**label // 2 + 1, min(2**label, 15)
        for number, (start, end) in enumerate(_places(generator, length)):
            apart = generator.integers(low, high + 1)
            at = generator.integers(start, end - apart)
            tokens[row, [at, at + apart]] = _MARKS + number
    return Rows(torch.from_numpy(tokens), torch.from_numpy(labels))


def _places(generator: np.random.Generator, length: int) -> list[tuple[int, int]]:
    """Ranges of a row, apart, of which each holds one event. As many in a row of any length, so that a longer one is
    no easier."""
    count = max(1, min(_EVENTS, (length - 1) // _ROOM))
    slots = np.sort(generator.choice((length - 1) // _ROOM, count, replace=False))
    return [(1 + int(slot) * _ROOM, 1 + int(slot) * _ROOM + _ROOM) for slot in slots]


SYNTHETIC: dict[str, tuple[Task, int]] = {"roles": (roles, 2), "distances": (distances, 5)}
"""Name -> the task and its number of labels."""


def _fillers(generator: np.random.Generator, rows: int, length: int) -> NDArray[np.int64]:
    tokens = generator.integers(_START + 1, VOCABULARY, (rows, length))
    tokens[:, 0] = _START
    return tokens


class _Classifier(nn.Module):
    """An encoder and a head on the largest value of each component: a single place may decide."""

    def __init__(self, encoder: Encoder, classes: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(encoder.config.width, classes)

    def forward(self, rows: Rows) -> Tensor:
        hidden = self.encoder(rows.token_ids, rows.valid)
        if rows.valid is not None:
            hidden = hidden.masked_fill(~rows.valid[..., None], -math.inf)
        return self.head(hidden.amax(1))  # type: ignore[no-any-return]


@dataclass
class KindResult:
    """One kind, one seed: accuracy at the trained length, and at longer ones by way of extending."""

    accuracy: float
    longer: dict[str, dict[int, float]] = field(default_factory=dict)


def run_kind(
    position: PositionConfig,
    train: Callable[[int], Rows],
    test: Callable[[int], Rows],
    classes: int,
    vocabulary: int,
    seed: int,
    settings: AblationConfig,
    lengths: Sequence[int] = (),
) -> KindResult:
    """Train the encoder with one position encoding, then test it.

    Args:
        position: which encoding.
        train: step number -> the rows of that step.
        test: length -> held-out rows of that length.
        classes, vocabulary: C, and rows of the word table.
        seed: of the encoder's start and dropout.
        lengths: longer lengths to test at.
    """
    torch.manual_seed(seed)
    config = EncoderConfig(
        vocab_size=vocabulary,
        width=settings.width,
        layers=settings.layers,
        heads=settings.heads,
        feed_forward_width=2 * settings.width,
        max_len=settings.trained_length,
        norm="pre",  # learns sooner: 0.94 of the rotary distances in 600 steps, against 0.62 with the norm after
        norm_eps=1e-6,
        dropout=0.0,
        attention_dropout=0.0,
        position=position,
    )
    model = _Classifier(Encoder(config), classes)
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, weight_decay=0.01)
    warmup = max(1, settings.steps // 10)
    model.train()
    for step in range(settings.steps):
        rate = min((step + 1) / warmup, (settings.steps - step) / (settings.steps - warmup))
        for group in optimizer.param_groups:
            group["lr"] = settings.learning_rate * rate
        rows = train(step)
        loss = F.cross_entropy(model(rows), rows.labels)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    result = KindResult(_accuracy(model, test(settings.trained_length)))
    for name, extend in extensions(position).items():
        result.longer[name] = {
            length: _accuracy(_with_encoder(model, extend(model.encoder, length)), test(length)) for length in lengths
        }
    return result


def extensions(position: PositionConfig) -> Mapping[str, Callable[[Encoder, int], Encoder]]:
    """The ways of using a kind past its trained length, without further training."""
    if isinstance(position, LearnedConfig):
        return {
            "interpolate": lambda encoder, length: lengthen_positions(encoder, length, "interpolate"),
            "tile": lambda encoder, length: lengthen_positions(encoder, length, "tile"),
        }
    if isinstance(position, RotaryConfig):
        return {
            "as it is": lambda encoder, length: encoder,
            "linear": _scaled(lambda factor, trained: LinearScaling(factor=factor)),
            "dynamic": _scaled(
                lambda factor, trained: DynamicScaling(
                    factor=1.0, original_max_len=trained, target_len=round(factor * trained)
                )
            ),
            "yarn": _scaled(lambda factor, trained: YarnScaling(factor=factor, original_max_len=trained)),
        }
    return {"as it is": lambda encoder, length: encoder}


def _scaled(scaling: Callable[[float, int], Any]) -> Callable[[Encoder, int], Encoder]:
    def extend(encoder: Encoder, length: int) -> Encoder:
        trained = encoder.config.max_len
        position = encoder.config.position.model_copy(update={"scaling": scaling(length / trained, trained)})
        other = Encoder(encoder.config.model_copy(update={"position": position}))
        other.load_state_dict(encoder.state_dict())
        return other

    return extend


def _with_encoder(model: _Classifier, encoder: Encoder) -> _Classifier:
    other = _Classifier(encoder, model.head.out_features)
    other.head = model.head
    return other


@torch.inference_mode()
def _accuracy(model: _Classifier, rows: Rows) -> float:
    model.eval()
    size = max(1, 16384 // rows.token_ids.shape[1])
    hits = sum(int((model(batch).argmax(-1) == batch.labels).sum()) for batch in rows.batches(size))
    return hits / len(rows)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean over seeds and half the width of its 95 % interval (Student's t); 0 for a single seed."""
    if len(values) < 2:
        return values[0], 0.0
    t = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}.get(len(values), 2.0)
    return statistics.fmean(values), t * statistics.stdev(values) / math.sqrt(len(values))


def ablate(
    kinds: Sequence[str],
    seeds: Sequence[int],
    lengths: Sequence[int],
    settings: AblationConfig,
    data: Path | None = None,
    done: Sequence[Mapping[str, Any]] = (),
) -> Iterator[dict[str, Any]]:
    """Every task, kind and seed that is not in `done`: results as plain values.

    Args:
        kinds: words of a configuration, such as `rotary`.
        seeds: numbers of the seeds.
        lengths: longer lengths to test the synthetic tasks at.
        settings: of encoder and training.
        data: a folder with train.jsonl and test.jsonl: adds the task `documents`, the first `trained_length` tokens of
            each text with its label.
        done: results of an earlier run.
    """
    known = {(result["task"], result["kind"], result["seed"]) for result in done}
    for seed in seeds:
        for kind in kinds:
            for task in (*SYNTHETIC, *(["documents"] if data is not None else [])):
                if (task, kind, seed) not in known:
                    found = _run(task, kind, seed, lengths, settings, data)
                    yield {
                        "task": task,
                        "kind": kind,
                        "seed": seed,
                        "accuracy": found.accuracy,
                        "longer": {
                            name: {str(length): score for length, score in scores.items()}
                            for name, scores in found.longer.items()
                        },
                    }


def _run(
    task: str, kind: str, seed: int, lengths: Sequence[int], settings: AblationConfig, data: Path | None
) -> KindResult:
    position = _Position.model_validate({"position": {"kind": kind}}).position
    if task not in SYNTHETIC:
        assert data is not None
        real = _documents(data, settings.trained_length)
        return run_kind(
            position, real.step(seed, settings.batch), real.test, real.classes, real.vocabulary, seed, settings
        )
    make, classes = SYNTHETIC[task]
    length = settings.trained_length

    def train(step: int) -> Rows:
        return make(np.random.default_rng([seed, step]), settings.batch, length)

    def test(longer: int) -> Rows:
        return make(np.random.default_rng([10**6, longer]), settings.rows_at(longer), longer)

    return run_kind(position, train, test, classes, VOCABULARY, seed, settings, lengths)


class _Position(Config):
    position: PositionConfig


@dataclass(frozen=True)
class _Documents:
    train: Rows
    held_out: Rows
    classes: int
    vocabulary: int

    def step(self, seed: int, batch: int) -> Callable[[int], Rows]:
        def rows(step: int) -> Rows:
            members = torch.from_numpy(np.random.default_rng([seed, step]).integers(0, len(self.train), batch))
            return next(self.train.batches(batch, members))

        return rows

    def test(self, length: int) -> Rows:
        return self.held_out


@lru_cache(maxsize=2)
def _documents(folder: Path, length: int) -> _Documents:
    """The corpus as rows: the first `length` tokens of each text. Word pieces that occur once or never share a row."""
    tokenizer = DocumentTokenizer.from_folder(resolve_checkpoint("default"))
    parts = [load_labelled([folder / f"{name}.jsonl"]) for name in ("train", "test")]
    labels = sorted({document.label or "" for document in parts[0]})
    ids = [[next(tokenizer.segments(document.text)).token_ids[:length] for document in part] for part in parts]
    counts = np.bincount(np.concatenate(ids[0]), minlength=tokenizer.vocab_size)
    number = np.zeros(tokenizer.vocab_size, dtype=np.int64)
    number[counts > 1] = np.arange(1, (counts > 1).sum() + 1)

    def rows(documents: Sequence[Document], encoded: Sequence[NDArray[np.int32]]) -> Rows:
        kept = [n for n, document in enumerate(documents) if document.label in labels]
        token_ids = torch.zeros(len(kept), length, dtype=torch.int64)
        valid = torch.zeros(len(kept), length, dtype=torch.bool)
        for row, n in enumerate(kept):
            token_ids[row, : len(encoded[n])] = torch.from_numpy(number[encoded[n]])
            valid[row, : len(encoded[n])] = True
        return Rows(token_ids, torch.tensor([labels.index(documents[n].label or "") for n in kept]), valid)

    train, test = (rows(documents, encoded) for documents, encoded in zip(parts, ids, strict=True))
    return _Documents(train, test, len(labels), int(number.max()) + 1)


def chance(data: Path | None = None) -> dict[str, float]:
    """Accuracy of guessing, by task: any label, and for real documents the label that most of the test has."""
    guesses = {task: 1 / classes for task, (_, classes) in SYNTHETIC.items()}
    if data is not None:
        labels = [document.label for document in load_labelled([data / "test.jsonl"])]
        guesses["documents"] = max(map(labels.count, labels)) / len(labels)
    return guesses


def ablation_table(results: Sequence[Mapping[str, Any]]) -> str:
    """Markdown: accuracy at the trained length, then at longer ones by way of extending; means and 95 % intervals."""
    kinds = list(dict.fromkeys(result["kind"] for result in results))
    tasks = list(dict.fromkeys(result["task"] for result in results))

    def cell(values: Sequence[float]) -> str:
        if not values:
            return "-"
        mean, half = interval(values)
        return f"{mean:.3f} +- {half:.3f}"

    lines = ["| position | " + " | ".join(tasks) + " |", "| --- |" + " --- |" * len(tasks)]
    for kind in kinds:
        scores = [[r["accuracy"] for r in results if (r["kind"], r["task"]) == (kind, task)] for task in tasks]
        lines.append(f"| {kind} | " + " | ".join(cell(values) for values in scores) + " |")
    for task in tasks:
        mine = [r for r in results if r["task"] == task and r["longer"]]
        lengths = sorted({int(n) for r in mine for scores in r["longer"].values() for n in scores})
        if not lengths:
            continue
        lines += ["", f"{task}, tested at longer lengths:", ""]
        lines += [
            "| position | extended by | " + " | ".join(map(str, lengths)) + " |",
            "| --- | --- |" + " --- |" * len(lengths),
        ]
        for kind in kinds:
            ways = dict.fromkeys(way for r in mine if r["kind"] == kind for way in r["longer"])
            for way in ways:
                scores = [[r["longer"][way][str(n)] for r in mine if r["kind"] == kind] for n in lengths]
                lines.append(f"| {kind} | {way} | " + " | ".join(cell(values) for values in scores) + " |")
    return "\n".join(lines) + "\n"
