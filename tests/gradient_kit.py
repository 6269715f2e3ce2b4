"""Gradients of one step of training in two ways, for every task with every readout and merger that it takes."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, get_args

import torch
from pydantic import TypeAdapter

from longdoc.checkpoints.native import ModelSettings
from longdoc.model import LongDocModel
from longdoc.nn.dropout import Dropout
from longdoc.nn.readout import ReadoutConfig, ReadoutKind
from longdoc.nn.self_attention import SelfAttention
from longdoc.pipeline import Pipeline
from longdoc.precision import PrecisionConfig, choose_placement
from longdoc.tasks import TASKS, Task, task_named
from longdoc.training.data import EpochSampler, Step, build_examples
from longdoc.training.processes import start_accelerator
from longdoc.training.schedules import Schedule
from longdoc.training.steps import Stepper, Wishes
from longdoc.types import Document, LabelledSpan, Span
from nn_kit import randomised
from readout_kit import EVERY

Gradients = dict[str, torch.Tensor]

WORDS = "the licence grants you a right to copy and change this work provided that notices stay in place".split()
LABELS = ("1", "2", "3")
"""Words and numbers, so that every task can take them."""
CHUNKS = (1, 9, 2, 4, 1, 6, 3)
"""Of the documents: seven, so that the last of their steps has one."""


def _other_readouts(task: Task) -> list[dict[str, Any]]:
    """The readouts of this task that score no whole documents; a chain of tags learns otherwise than tags alone."""
    found = []
    for kind in get_args(ReadoutKind):
        if kind.scored == "documents":
            continue
        name = kind.model_fields["kind"].default
        choices = [{}, {"decoder": "crf", "scheme": "bioes"}] if "decoder" in kind.model_fields else [{}]
        found += [{"kind": name, **choice} for choice in choices]
    return [config for config in found if _takes(task, config)]


def _takes(task: Task, config: dict[str, Any]) -> bool:
    try:
        task.check_readout(TypeAdapter(ReadoutConfig).validate_python(config))
    except ValueError:
        return False
    return True


CASES = [
    (task.name, config)
    for task in TASKS
    for config in (*[c for c in EVERY if _takes(task, c)], *_other_readouts(task))
]  # fmt: skip


def case_name(case: tuple[str, dict[str, Any]]) -> str:
    task, config = case
    parts = [config["kind"], config.get("decoder", ""), config.get("merger", {}).get("kind", "")]
    return "-".join([task, *filter(None, parts)])


def documents() -> list[Document]:
    """With the right answer of every task at once."""
    made = []
    for number, chunks in enumerate(CHUNKS):
        words = [WORDS[(number * 5 + i * i) % len(WORDS)] for i in range(22 * chunks)]
        starts = [sum(len(word) + 1 for word in words[:i]) for i in range(len(words))]
        spans = tuple(
            LabelledSpan(starts[i], starts[i + 1] + len(words[i + 1]), LABELS[i % 3])
            for i in range(0, len(words) - 1, 7)
        )
        label = LABELS[number % 3]
        made.append(
            Document(
                f"d{number}",
                " ".join(words),
                label=label,
                labels=LABELS[: number % 4],
                target=number / 3,
                spans=spans,
                question="who grants",
                answers=(Span(spans[-1].start, spans[-1].end),) if number % 3 else (),
            )
        )
    return made


class OneStep:
    """A step of seven documents in micro-batches of three chunks, and no step of the optimiser.

    Args:
        tiny: a pipeline whose encoder and tokenizer are taken.
        case: one of `CASES`.
        dtype: of all weights.
        dropout: of encoder, head and merger.
    """

    def __init__(self, tiny: Pipeline, case: tuple[str, dict[str, Any]], dtype: torch.dtype, dropout: float) -> None:
        name, config = case
        task, readout_config = task_named(name), TypeAdapter(ReadoutConfig).validate_python(config)
        labels = task.own_labels or LABELS
        readout = readout_config.build(tiny.model.encoder.config.width, task.classes(labels, readout_config))
        settings = ModelSettings(task=name, labels=labels, chunking=tiny.settings.chunking, readout=readout_config)
        model = LongDocModel(copy.deepcopy(tiny.model.encoder), randomised(readout, 7, 0.3))
        self.pipeline = Pipeline(model, settings, tiny.tokenizer, tiny.prediction)
        self.model = self.pipeline.model.to(dtype).train()
        for module in self.model.modules():
            if isinstance(module, Dropout):
                module.p = dropout
            elif isinstance(module, SelfAttention):
                module.dropout = dropout
        chunker = self.pipeline.chunker
        self.examples, left_out = build_examples(
            *(task.unfold(documents(), "training")[: len(CHUNKS)], tiny.tokenizer, chunker, labels, task),
            readout=self.model.readout,
        )
        assert not left_out
        self.loss = task.loss(self.model.readout, [e.target for e in self.examples], len(labels))
        self.placement = choose_placement(PrecisionConfig(device="cpu", dtype="fp32"))
        self.accelerator = start_accelerator(torch.device("cpu"), torch.float32, 0)
        self.optimizer = self.accelerator.prepare(torch.optim.SGD(self.model.parameters(), lr=0.0))
        self.stepper = Stepper(
            self.pipeline, self.accelerator, self.optimizer, Schedule(self.optimizer, 9, 0.0), self.placement,
            self.examples, self.loss, None, 1e9, 3 * tiny.settings.chunking.size,
        )  # fmt: skip

    def step(self, batch_size: int, processes: int = 1, rank: int = 0) -> Step:
        """The first step of an epoch, of two batches on each process."""
        sizes = [example.tokens for example in self.examples]
        groups = (
            [int(example.target.flatten()[0]) for example in self.examples]
            if self.pipeline.task.learns_in_twos
            else None
        )
        return EpochSampler(sizes, batch_size, 4, processes, rank, groups).optimiser_steps(0, 2)[0]

    def by_row_cache(self, step: Step) -> Gradients:
        """As training computes them, summed over processes."""
        found: Gradients = {}
        self.optimizer.zero_grad = lambda: found.update(self._taken())
        torch.manual_seed(5)
        self.stepper.take(step, Wishes, 1, str)
        return found

    def by_full_graph(self, batches: Sequence[Sequence[int]], documents: int) -> Gradients:
        """All chunks of documents that are taken together in memory at once, divided by the number of documents."""
        torch.manual_seed(5)
        for members in (group for batch in filter(None, batches) for group in self.stepper._groups(batch)):
            mine = [self.examples[m] for m in members]
            parts = list(self.stepper._micro_batches(mine))
            rows = torch.cat([self.model.chunk_rows(part) for part in parts])
            owner, weights = (torch.cat([getattr(part, name) for part in parts]) for name in ("owner", "weights"))
            scores = self.model.documents(rows, owner, weights, len(mine))
            (self.loss(scores, [example.target for example in mine]).sum() / documents).backward()
        return self._taken()

    def _taken(self) -> Gradients:
        found = {n: p.grad if p.grad is not None else torch.zeros_like(p) for n, p in self.model.named_parameters()}
        self.model.zero_grad(set_to_none=True)
        return found


def distance(found: Gradients, expected: Gradients) -> float:
    """Of two gradients, as vectors, relative to the length of the second."""
    assert found.keys() == expected.keys()
    wide = [(found[name].double() - expected[name].double(), expected[name].double()) for name in expected]
    apart, length = (torch.stack([pair[i].square().sum() for pair in wide]).sum().sqrt() for i in (0, 1))
    assert length > 0
    assert any(float(expected[name].abs().max()) > 0 for name in expected if name.startswith("encoder."))
    return float(apart / length)
