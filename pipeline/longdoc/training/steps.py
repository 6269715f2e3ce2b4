"""One step of the optimiser: gradients of the mean loss over its documents, in whatever pieces they are computed."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from longdoc.errors import LongDocError
from longdoc.pipeline import Pipeline
from longdoc.precision import Placement
from longdoc.tasks.base import DocumentLoss
from longdoc.text.batching import BatchingConfig, collate, plan_batches
from longdoc.training.data import Example, Step
from longdoc.training.frozen_rows import FrozenRows
from longdoc.training.random_states import random_states, replay
from longdoc.training.row_cache import backward_through_documents
from longdoc.training.schedules import Schedule
from longdoc.types import ChunkBatch, short_digest

__all__ = ["StepGivenUp", "Stepper", "Wishes"]

_SHOWN = 10

_log = logging.getLogger(__name__)


class StepGivenUp(Exception):  # noqa: N818  nothing went wrong
    """A step was left unfinished, since it was asked to stop; weights and random state are those of before it."""


class Wishes(NamedTuple):
    """What one process wants after a step; all of them do it then."""

    save: bool = False
    stop: bool = False


class Outcome(NamedTuple):
    """Of a step: the mean loss over its documents, the norm of its gradient before clipping, and what is wanted."""

    loss: float
    grad_norm: float
    wishes: Wishes


@dataclass
class Stepper:
    """Takes steps.

    Attributes:
        pipeline: with the model that learns.
        accelerator: Accelerate's, which scales losses, sums over processes and clips.
        optimizer, schedule: of the model.
        placement: where and in which number format.
        examples: all of them; a `Step` counts them.
        loss: of the task.
        rows: of a frozen encoder, or None.
        max_grad_norm: longer gradients are shortened to it.
        micro_batch_tokens: tokens that are in memory with their gradients at once; halved where they do not fit.
        gives_up: asked between micro-batches whether to leave the step; where others wait for this process it must say
            no.
    """

    pipeline: Pipeline
    accelerator: Any
    optimizer: Any
    schedule: Schedule
    placement: Placement
    examples: Sequence[Example]
    loss: DocumentLoss
    rows: FrozenRows | None
    max_grad_norm: float
    micro_batch_tokens: int
    gives_up: Callable[[], bool] = lambda: False
    _losses: list[tuple[Sequence[int], torch.Tensor]] = field(default_factory=list)

    def take(self, step: Step, wishes: Callable[[], Wishes], number: int, last_good: Callable[[], str]) -> Outcome:
        """Gradients, one step of the optimiser, and what came of it.

        Ranks hold different numbers of chunks, some none at all: they meet only when each has all of its gradients.

        Args:
            wishes: of this process.
            number: of the step, for messages.
            last_good: says what is kept, for messages.

        Raises:
            LongDocError: loss or gradient is not finite (the weights are still those of before), or not even one chunk
                fits into memory.
            StepGivenUp: `gives_up` has said so.
        """
        accelerator = self.accelerator
        value = self._gradients(step)
        mine = wishes()
        told = torch.tensor([float(value), mine.save, mine.stop], device=accelerator.device)
        loss, save, stop = accelerator.reduce(told, reduction="sum").tolist()
        if not math.isfinite(loss):
            raise self._not_finite("loss", number, self._guilty(), last_good())
        learning = [p for p in self.pipeline.model.parameters() if p.requires_grad]
        if accelerator.num_processes > 1:
            for parameter in learning:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                parameter.grad = accelerator.reduce(parameter.grad, reduction="sum")
        norm = float(accelerator.clip_grad_norm_(learning, self.max_grad_norm))
        if not math.isfinite(norm) and accelerator.scaler is None:  # a scaler leaves such a step out and scales less
            raise self._not_finite("gradient", number, step.members, last_good())
        self.schedule.before_step()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return Outcome(loss, norm, Wishes(save > 0, stop > 0))

    def _gradients(self, step: Step) -> torch.Tensor:
        """This process's part of the step, once more in smaller pieces where it did not fit into memory.

        The random state is replayed, so that a second try is what the first would have been with smaller pieces.
        """
        before, asked = random_states(self.accelerator.device), self.micro_batch_tokens
        while True:
            try:
                value = self._try(step)
                break
            except StepGivenUp:
                self.optimizer.zero_grad()
                replay(self.accelerator.device, before)
                raise
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
            # Out of the handler, so that the frames of the failed try and their tensors are gone.
            self.optimizer.zero_grad()
            self._halve()
            replay(self.accelerator.device, before)
        if self.micro_batch_tokens != asked:
            _log.warning(
                "out of memory: `training.micro_batch_tokens` is %d from here on, %d did not fit; the step is repeated "
                "and nothing is lost",
                self.micro_batch_tokens,
                asked,
            )
        return value

    def _halve(self) -> None:
        size = self.pipeline.settings.chunking.size
        if self.rows is not None or self.micro_batch_tokens <= size:
            pieces = "the rows of its documents" if self.rows is not None else f"one chunk of {size} tokens at a time"
            raise LongDocError(
                f"a step does not fit into memory, with {pieces}. Lower `training.per_device_train_batch_size` or "
                "`chunking.size`, or free memory."
            )
        self.micro_batch_tokens = max(size, self.micro_batch_tokens // 2)
        if self.accelerator.device.type == "cuda":
            torch.cuda.empty_cache()

    def _try(self, step: Step) -> torch.Tensor:
        self._losses = []
        value = torch.zeros((), device=self.accelerator.device)
        for members in step.batches:
            if members:
                self._may_give_up()
                value = value + self._backward(members, len(step.members))
        return value

    def _may_give_up(self) -> None:
        if self.gives_up():
            raise StepGivenUp

    def _backward(self, members: Sequence[int], documents: int) -> torch.Tensor:
        """Gradients of the losses of some documents of this process, divided by the number of documents of the step."""
        value = torch.zeros((), device=self.accelerator.device)
        for group in self._groups(members):
            value = value + self._backward_of_group(group, documents)
        return value

    def _groups(self, members: Sequence[int]) -> list[list[int]]:
        """Documents that fit into memory together with their gradients, so that one pass is enough, in their order.

        A document that is longer stands alone. Losses that look across the documents of a batch keep them together.
        """
        if self.rows is not None or self.pipeline.task.learns_in_twos:
            return [list(members)]
        groups: list[list[int]] = []
        room: list[int] = []
        for member in sorted(members, key=lambda m: -self.examples[m].tokens):  # the longest find room first
            tokens = self.examples[member].tokens
            place = next((n for n, free in enumerate(room) if tokens <= free), None)
            if place is None:
                groups.append([member])
                room.append(self.micro_batch_tokens - tokens)
            else:
                groups[place].append(member)
                room[place] -= tokens
        order = {member: place for place, member in enumerate(members)}
        return [sorted(group, key=order.__getitem__) for group in groups]

    def _backward_of_group(self, members: Sequence[int], documents: int) -> torch.Tensor:
        mine = [self.examples[m] for m in members]
        targets = [e.target for e in mine]
        model, device, backward = self.pipeline.model, self.accelerator.device, self.accelerator.backward

        def total(scores: torch.Tensor) -> torch.Tensor:
            losses = self.loss(scores, targets)
            self._losses.append((members, losses.detach()))
            return losses.sum() / documents

        if self.rows is None:
            batches = [batch.to(device) for batch in self._micro_batches(mine)]
            return backward_through_documents(
                model, batches, len(mine), total, self.placement, backward, self._may_give_up, self._fit(mine)
            )
        cached, owner, weights = self.rows.gather(members, device)
        value: torch.Tensor = total(model.documents(cached, owner, weights, len(mine)))
        backward(value)
        return value.detach()

    def _fit(self, mine: Sequence[Example]) -> bool:
        """Whether documents are in memory together, with their gradients."""
        return sum(example.tokens for example in mine) <= self.micro_batch_tokens

    def _micro_batches(self, mine: Sequence[Example]) -> Iterator[ChunkBatch]:
        """All chunks of the documents, sorted by length, cut by tokens; owners count the documents of this batch."""
        pairs = [(number, chunk) for number, example in enumerate(mine) for chunk in example.chunks]
        size = self.pipeline.settings.chunking.size
        # On a CPU few: activations of one layer stay in cache, and chunks of like length need hardly any padding.
        usual = BatchingConfig().amounts(self.accelerator.device.type).tokens
        tokens = min(self.micro_batch_tokens, usual) if self._fit(mine) else self.micro_batch_tokens
        batching = self.pipeline.prediction.batching.model_copy(
            update={"deterministic": False, "tokens": max(tokens, size), "read_ahead": sum(e.tokens for e in mine) + 1}
        )
        pad_id = self.pipeline.tokenizer.pad_id
        for planned in plan_batches(pairs, size, batching):
            yield collate(planned.chunks, planned.owners, len(mine), pad_id, length=planned.length)

    def _guilty(self) -> list[int]:
        """The examples of all processes whose own loss is not finite."""
        mine = [
            member
            for members, losses in self._losses
            for member, is_fine in zip(members, torch.isfinite(losses).tolist(), strict=True)
            if not is_fine
        ]
        if self.accelerator.num_processes == 1:
            return mine
        numbers = torch.zeros(len(self.examples), device=self.accelerator.device)
        numbers[mine] = 1
        return self.accelerator.reduce(numbers, reduction="sum").nonzero().flatten().tolist()  # type: ignore[no-any-return]

    def _not_finite(self, what: str, number: int, members: Sequence[int], kept: str) -> LongDocError:
        chosen = sorted((self.examples[m] for m in members), key=lambda example: example.number)
        listed = ", ".join(f"{example.number + 1} (#{short_digest(example.id)})" for example in chosen[:_SHOWN])
        more = f" and {len(chosen) - _SHOWN} more" if len(chosen) > _SHOWN else ""
        return LongDocError(
            f"the {what} of step {number} is not finite, with the training document{'' if len(chosen) == 1 else 's'} "
            f"number {listed}{more}. {kept} Look at the document{'' if len(chosen) == 1 else 's'}, or lower "
            "`training.learning_rate`."
        )


def is_out_of_memory(error: Exception) -> bool:
    """Whether an exception says that there is no memory: Python's, a GPU's, or that of torch's allocator on the CPU."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and "not enough memory" in str(error)
