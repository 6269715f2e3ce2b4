"""Public bug reports about how the tags of words become spans, with the values that are right.

That windows change nothing of it is shown in `invariants/test_spans_and_chunks.py`; the other reports about merging are
named where mergers and pooling are tested (B034, B037), in `unit/tasks/test_spans_task.py` (B032) and in
`invariants/test_job_order.py` (B038).
"""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from longdoc.decide import Decisions
from longdoc.nn.readout import TokensReadoutConfig
from longdoc.spans.tags import read_tags
from longdoc.tasks import task_named
from longdoc.text.planning import plan_cores
from longdoc.text.tokens_read import TokensRead
from longdoc.types import Span


def spans_of(
    names: tuple[str, ...], words: str, tags: str, windows: tuple[Span, ...] = ()
) -> list[tuple[int, int, str]]:
    """What a tagger says whose scores are loud for these tags, one a word."""
    readout = TokensReadoutConfig(tags=names).build(4, len(names)).eval()
    labels, _ = read_tags(names)
    given, places = tags.split(), np.array([(3 * n, 3 * n + 2) for n in range(len(words.split()))], dtype=np.int32)
    scores = np.zeros((len(given), len(names)), dtype=np.float32)
    scores[range(len(given)), [names.index(tag) for tag in given]] = 9.0
    shown = tuple((window, window) for window in windows or (Span(0, len(given)),))
    tokens = TokensRead(words, places, np.arange(len(given), dtype=np.int32), shown)
    answer = task_named("spans").answer(scores, labels, Decisions(), tokens, readout)
    return [(span.start, span.end, span.label) for span in answer["spans"]]


@pytest.mark.parametrize("cut", [None, 2, 5])
def test_b031_rules_of_tags_are_those_of_words_whatever_the_window(cut: int | None) -> None:
    windows = () if cut is None else (Span(0, cut), Span(cut, 6))
    found = spans_of(("O", "B-X", "I-X", "B-Y", "I-Y"), "aa bb cc dd ee ff", "B-X I-X B-X O I-Y I-Y", windows)
    assert found == [(0, 5, "X"), (6, 8, "X"), (12, 17, "Y")]


def test_b033_a_class_that_is_called_o_is_not_outside() -> None:
    found = spans_of(("O", "B-O", "I-O", "B-P"), "aa bb cc dd", "B-O I-O O B-P")
    assert found == [(0, 5, "O"), (9, 11, "P")]
    assert spans_of(("O", "0"), "aa bb", "0 O") == [(0, 2, "0")]


def test_b033_a_prefix_without_a_class_is_refused_when_the_model_is_opened() -> None:
    with pytest.raises(ValidationError, match="must name a label behind each prefix, but 'B-' has none"):
        TokensReadoutConfig(tags=("O", "B-", "I-X"))


def test_b035_a_word_in_the_overlap_is_answered_where_its_context_is_widest() -> None:
    owner = [window for window, (start, end) in enumerate(plan_cores([(0, 14), (10, 24)])) for _ in range(start, end)]
    assert len(owner) == 24
    assert owner[10:14] == [0, 0, 1, 1]
