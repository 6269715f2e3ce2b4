"""A text without the spans that were found in it."""

from __future__ import annotations

from collections.abc import Sequence

from longdoc.errors import UsageError
from longdoc.types import ScoredSpan

__all__ = ["redacted"]


def redacted(text: str, spans: Sequence[ScoredSpan]) -> str:
    """The text with each span replaced by its label: `Dr [NAME] of [CITY]`.

    Spans that overlap are replaced together, by the labels in the order in which they begin: `[NAME, CITY]`. What the
    model did not find stays: a redacted text is as private as the model's recall is high.

    Args:
        text: the document's, to which the offsets belong.
        spans: as in `DocumentPrediction.spans`, in any order.

    Raises:
        UsageError: a span ends beyond the text: it belongs to another one.
    """
    pieces: list[str] = []
    end = 0
    names: list[str] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end, span.label)):
        if span.end > len(text):
            raise UsageError(
                f"`spans` must end within the text of {len(text)} characters, but one ends at {span.end}. Pass the "
                "text that was predicted."
            )
        if names and span.start < end:
            names += [span.label] if span.label not in names else []
            end = max(end, span.end)
            continue
        pieces += [f"[{', '.join(names)}]"] if names else []
        pieces.append(text[end : span.start])
        names, end = [span.label], span.end
    pieces += [f"[{', '.join(names)}]"] if names else []
    return "".join([*pieces, text[end:]])
