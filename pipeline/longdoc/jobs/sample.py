"""A few of many documents, each with the same chance, and what predicting them shows."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from longdoc.jobs.rows import JobResult
from longdoc.jobs.work import Predictor, answer_alone
from longdoc.types import Document, DocumentFailure

__all__ = ["Probe", "TextSample"]

_DOCUMENTS = 32
_CHARACTERS = 50_000
_SECONDS = 5.0


class TextSample:
    """At most 32 of the documents offered, of each its first 50,000 characters.

    The same documents in the same order give the same sample (Vitter 1985, algorithm R, with a fixed seed).

    Attributes:
        bytes_a_character: what Python needs for a character of the widest text offered.
    """

    def __init__(self) -> None:
        self._chance = random.Random(0)
        self._offered = 0
        self._kept: list[Document] = []
        self.bytes_a_character = 1

    def __len__(self) -> int:
        return len(self._kept)

    def offer(self, document: Document) -> None:
        """One more document; it may take the place of another."""
        self.bytes_a_character = max(self.bytes_a_character, _width(document.text))
        place = self._offered if self._offered < _DOCUMENTS else self._chance.randrange(self._offered + 1)
        self._offered += 1
        if place < _DOCUMENTS:
            short = _shortened(document)
            self._kept[place : place + 1] = [short]

    def documents(self) -> list[Document]:
        """The sample, the shortest first."""
        return sorted(self._kept, key=lambda document: len(document.text))


@dataclass(frozen=True)
class Probe:
    """What a sample has shown.

    Attributes:
        results: of the documents that were predicted in the time.
        tokens_per_character: over all of them; 0 when none was answered.
        chunks_per_second: of predicting them one after the other; None when none was answered.
        peak_bytes: resident memory of this process at its peak so far.
    """

    results: tuple[JobResult, ...] = ()
    tokens_per_character: float = 0.0
    chunks_per_second: float | None = None
    peak_bytes: int = 0
    failures: Counter[str] = field(default_factory=Counter)

    @classmethod
    def run(cls, predictor: Predictor, sample: TextSample, clock: Callable[[], float]) -> Probe:
        """Predict documents of the sample, one alone to warm up, then one after the other for a few seconds."""
        documents = sample.documents()
        if not documents:
            return cls(peak_bytes=_peak())
        answer_alone(predictor, documents[0])
        results: list[JobResult] = []
        characters = 0
        beginning = clock()
        seconds = 0.0
        # From the middle outwards: the typical ones first, should the time be up early.
        for document in sorted(
            documents, key=lambda one: abs(len(one.text) - len(documents[len(documents) // 2].text))
        ):
            results.append(answer_alone(predictor, document))
            seconds = clock() - beginning
            if not isinstance(results[-1], DocumentFailure):
                characters += len(document.text)
            if seconds > _SECONDS:
                break
        answers = [result for result in results if not isinstance(result, DocumentFailure)]
        chunks = sum(answer.n_chunks for answer in answers)
        return cls(
            tuple(results),
            sum(answer.n_tokens for answer in answers) / characters if characters else 0.0,
            chunks / seconds if chunks and seconds > 0 else None,
            _peak(),
            Counter(result.reason for result in results if isinstance(result, DocumentFailure)),
        )


def _shortened(document: Document) -> Document:
    """The beginning of a document, without what is known of its right answer, which may lie further on."""
    return replace(document, text=document.text[:_CHARACTERS], spans=None, answers=None)


def _width(text: str) -> int:
    """Bytes of a character in memory: 1, 2 or 4, by the widest one."""
    return max(1, round((sys.getsizeof(text) - sys.getsizeof("")) / len(text))) if len(text) > 1000 else 1


def _peak() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
