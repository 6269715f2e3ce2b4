"""Spans as displaCy knows them: `{"text": ..., "ents": [{"start": ..., "end": ..., "label": ...}], "title": ...}`.

That is the manual format of spaCy's displaCy with `style="ent"` (https://spacy.io/usage/visualizers#manual-usage).
Offsets are code points, half open, as everywhere here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from longdoc.errors import UsageError
from longdoc.report.html import ExplainedDocument
from longdoc.types import DocumentPrediction, ScoredSpan

__all__ = ["from_displacy", "to_displacy"]


def from_displacy(drawn: Mapping[str, Any]) -> ExplainedDocument:
    """A document for `explanation_page`, from displaCy's dict. The title is its id; without one it is `document`.

    Entities may have a `score`; what else they hold (links, say) is left aside. They may stand in any order and
    overlap.

    Raises:
        UsageError: no text, or an entity that is none or lies outside the text.
    """
    text, entities = drawn.get("text"), drawn.get("ents")
    if not isinstance(text, str) or not isinstance(entities, (list, tuple)):
        raise UsageError(
            '`drawn` must be displaCy\'s dict, {"text": "...", "ents": [{"start": 0, "end": 4, "label": "X"}]}, but '
            "has no such text and list."
        )
    spans = [_span(entity, number, len(text)) for number, entity in enumerate(entities)]
    result = DocumentPrediction(id=str(drawn.get("title") or "document"), spans=tuple(sorted(spans)))
    return ExplainedDocument(result, text)


def to_displacy(result: DocumentPrediction, text: str) -> dict[str, Any]:
    """Displacy's dict of a prediction with spans: `displacy.render(..., manual=True)` draws it.

    Args:
        text: of the document that `result` is about.
    """
    entities = [{"start": span.start, "end": span.end, "label": span.label} for span in result.spans]
    return {"text": text, "ents": entities, "title": result.id}


def _span(entity: Any, number: int, length: int) -> ScoredSpan:
    try:
        start, end, label = entity["start"], entity["end"], entity["label"]
        score = float(entity.get("score", math.nan))
        fits = type(start) is int and type(end) is int and isinstance(label, str) and 0 <= start < end <= length
    except (TypeError, KeyError, AttributeError, ValueError):
        fits = False
    if not fits:
        raise UsageError(
            f"`ents[{number}]` must be a dict with a `label` and 0 <= `start` < `end` <= {length}, the length of the "
            "text, but is not."
        )
    return ScoredSpan(start, end, label, score)
