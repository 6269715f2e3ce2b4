"""displaCy's dict in and out."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from longdoc.errors import UsageError
from longdoc.report import explanation_page, from_displacy, to_displacy
from longdoc.types import ScoredSpan

DRAWN = {
    "text": "But Google is starting from behind.",
    "ents": [{"start": 4, "end": 10, "label": "ORG"}],
    "title": "news",
}


def test_what_displacy_draws_is_drawn_and_given_back() -> None:
    item = from_displacy(DRAWN)
    assert item.result.id == "news"
    page = explanation_page([item])
    assert '>Google<span class="badge" data-label="ORG"></span></mark>' in page
    assert "nan" not in page.partition("<body>")[2].partition("<script>")[0], "no score is made up"
    assert to_displacy(item.result, item.text) == DRAWN


def test_entities_may_overlap_have_scores_and_no_title() -> None:
    drawn = {"text": "abcdef", "title": None, "ents": [
        {"start": 2, "end": 4, "label": "B", "kb_url": "https://example.org"},
        {"start": 0, "end": 6, "label": "A", "score": 0.5},
    ]}  # fmt: skip
    item = from_displacy(drawn)
    assert item.result.id == "document"
    assert item.result.spans[0] == ScoredSpan(0, 6, "A", 0.5)
    assert math.isnan(item.result.spans[1].score)
    assert "example.org" not in explanation_page([item])


def test_the_block_of_the_page_about_reports_runs() -> None:
    page = Path(__file__).parents[3] / "docs" / "reports.md"
    (block,) = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(block, "reports.md", "exec"), names)
    assert 'data-label="PERSON"' in names["page"]


@pytest.mark.parametrize(
    "entity",
    [{"start": 4, "end": 4, "label": "x"}, {"start": 0, "end": 99, "label": "x"},
     {"start": "0", "end": 1, "label": "x"}, {"start": 0, "end": 1},
     {"start": 0, "end": 1, "label": "x", "score": "private"}, None],
)  # fmt: skip
def test_an_entity_that_is_none_is_refused_by_its_number(entity: Any) -> None:
    with pytest.raises(UsageError) as refused:
        from_displacy({"text": "abcdef", "ents": [{"start": 0, "end": 1, "label": "x"}, entity]})
    assert str(refused.value) == (
        "`ents[1]` must be a dict with a `label` and 0 <= `start` < `end` <= 6, the length of the text, but is not."
    )


@pytest.mark.parametrize("drawn", [{}, {"text": "a"}, {"text": None, "ents": []}, {"text": "a", "ents": "x"}])
def test_what_is_no_dict_of_displacy_is_refused(drawn: Any) -> None:
    with pytest.raises(UsageError) as refused:
        from_displacy(drawn)
    assert str(refused.value) == (
        '`drawn` must be displaCy\'s dict, {"text": "...", "ents": [{"start": 0, "end": 4, "label": "X"}]}, but has no '
        "such text and list."
    )
