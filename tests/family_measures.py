"""How far each family's numbers are from those they must be, measured on tiny random models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from family_kit import TINY, difference, pad_id_of, ragged, saved, their_answer, their_model
from foreign_kit import largest_difference, written
from longdoc.checkpoints import load_encoder
from longdoc.checkpoints.classifiers import load_classifier
from longdoc.checkpoints.opening import FAMILIES
from longdoc.checkpoints.taggers import load_tagger
from nn_kit import batch_of

FLOAT32 = {"eurobert": 2e-5, "ultrabert": 2e-5}
"""Bounds of states and scores in float32 where they are not 1e-5."""
FLOAT64 = {"modernbert": 5e-5, "eurobert": 5e-5, "ultrabert": 5e-5, "longformer": 5e-5, "neobert": 1e-5}
"""Bounds in float64 where they are not 1e-10: parts are computed in float32 whatever the model is."""


@dataclass(frozen=True)
class Measured:
    """Largest differences; None where there is nothing to compare with.

    Attributes:
        states, exact_states: of hidden states, in float32 and float64.
        classifier, tagger: of the scores of the family's heads, float32.
    """

    states: float
    exact_states: float
    classifier: float | None = None
    tagger: float | None = None


def measured(family: str, folder: Path) -> Measured:
    """Measure one family in a folder of its own."""
    if family not in TINY:
        path = written(family, folder)
        return Measured(*(largest_difference(path, family, dtype) for dtype in (torch.float32, torch.float64)))
    ids, valid = ragged(pad_id=pad_id_of(family))
    with torch.no_grad():
        theirs = their_model(family)
        states = difference(
            load_encoder(saved(theirs, folder / "a"))(ids, valid), their_answer(theirs, ids, valid), valid
        )
        theirs = their_model(family, std=0.35).double()
        exact = difference(
            load_encoder(saved(theirs, folder / "b"))(ids, valid), their_answer(theirs, ids, valid), valid
        )
        theirs = their_model(family, "classifier", num_labels=3)
        model, _ = load_classifier(saved(theirs, folder / "c"))
        classifier = float((model(batch_of(ids, valid)) - their_answer(theirs, ids, valid)).abs().max())
        tagger = None
        if FAMILIES[family].tagger is not None:
            theirs = their_model(family, "tagger", num_labels=5)
            encoder, head, _ = load_tagger(saved(theirs, folder / "d"))
            scores = head.classify(head.transform(encoder(ids, valid)))
            tagger = difference(scores, their_answer(theirs, ids, valid), valid)
    return Measured(states, exact, classifier, tagger)
