"""Position encodings side by side: the same small encoder from scratch, on tasks where order may or must matter.

Trained at one length, each encoder is then tested at longer ones, as it is and with each way of extending it.

Shape letters: N rows, L length, C classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import ValidationError
from torch import Tensor, nn
from torch.nn import functional as F

from longdoc.checkpoints.surgery import lengthen_positions
from longdoc.errors import UsageError
from longdoc.nn import Encoder, EncoderConfig
from longdoc.nn.position import LearnedConfig, PositionConfig, RotaryConfig
from longdoc.nn.position.scaling import DynamicScaling, LinearScaling, YarnScaling
from longdoc.schema import Config, explain_faults
from longdoc.study.order_tasks import SYNTHETIC, VOCABULARY, Rows, document_rows

__all__ = ["KINDS", "AblationConfig", "ablate", "check_kinds", "extensions", "run_kind"]

KINDS = ("none", "learned", "sinusoidal", "weighted", "rotary", "alibi", "shaw", "buckets")
"""The kinds that are compared, by their word in a configuration."""


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
    position = _position(kind)
    if task not in SYNTHETIC:
        assert data is not None
        real = document_rows(data, settings.trained_length)
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


def _position(kind: str) -> PositionConfig:
    try:
        return _Position.model_validate({"position": kind}).position
    except ValidationError as error:
        said = explain_faults(error, _Position, "position.")
        raise UsageError(f"`{kind}` is none of the kinds that are compared. {said}") from None


def check_kinds(kinds: Sequence[str]) -> None:
    """Refuse what could not be compared, before anything is written.

    Raises:
        UsageError: no such kind, or one that has fields without defaults.
    """
    for kind in kinds:
        _position(kind)
