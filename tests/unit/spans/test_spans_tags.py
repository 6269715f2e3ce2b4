"""Tags, layouts and names of tags."""

from __future__ import annotations

import numpy as np
import pytest

from longdoc.errors import UsageError
from longdoc.spans.tags import Tag, read_tags, tags_of


def test_bio_begins_and_goes_on() -> None:
    layout = tags_of(2, "bio", overlapping=False)
    assert layout.layers == ((Tag("O", -1), Tag("B", 0), Tag("I", 0), Tag("B", 1), Tag("I", 1)),)
    assert layout.start.tolist() == [[True, True, False, True, False]]
    assert layout.end.all()
    assert layout.step[0].astype(int).tolist() == [
        [1, 1, 0, 1, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 0, 1, 1],
        [1, 1, 0, 1, 1],
    ]


def test_bioes_closes_what_it_opens() -> None:
    layout = tags_of(1, "bioes", overlapping=False)
    assert [tag.role for tag in layout.layers[0]] == ["O", "B", "I", "E", "S"]
    assert layout.start.astype(int).tolist() == [[1, 1, 0, 0, 1]]
    assert layout.end.astype(int).tolist() == [[1, 0, 0, 1, 1]]
    assert layout.step[0].astype(int).tolist() == [
        [1, 1, 0, 0, 1],
        [0, 0, 1, 1, 0],
        [0, 0, 1, 1, 0],
        [1, 1, 0, 0, 1],
        [1, 1, 0, 0, 1],
    ]


def test_where_spans_may_overlap_each_label_has_a_layer() -> None:
    layout = tags_of(3, "bio", overlapping=True)
    assert layout.shape == (3, 3)
    assert [layout.layer_of(label) for label in range(3)] == [0, 1, 2]
    assert layout.labels.tolist() == [[-1, 0, 0], [-1, 1, 1], [-1, 2, 2]]


@pytest.mark.parametrize(
    ("scheme", "words", "expected"),
    [("bio", 1, "B"), ("bio", 3, "BII"), ("bioes", 1, "S"), ("bioes", 2, "BE"), ("bioes", 4, "BIIE")],
)
def test_spans_are_spelled(scheme: str, words: int, expected: str) -> None:
    layout = tags_of(2, scheme, overlapping=False)
    tags = [layout.layers[0][number] for number in layout.spell(0, 1, words)]
    assert "".join(tag.role for tag in tags) == expected
    assert {tag.label for tag in tags} == {1}


def test_tags_with_prefixes_name_labels() -> None:
    labels, layout = read_tags(["I-PER", "O", "B-PER", "B-LOC"])
    assert labels == ("PER", "LOC")
    assert layout.layers == ((Tag("I", 0), Tag("O", -1), Tag("B", 0), Tag("B", 1)),)
    assert layout.free
    assert layout.outside == (1,)
    assert layout.spell(0, 1, 3) == [3, 3, 3], "without an I the B says as much"
    labels, layout = read_tags(["O", "B-X", "I-X", "L-X", "U-X"])
    assert labels == ("X",)
    assert [tag.role for tag in layout.layers[0]] == ["O", "B", "I", "E", "S"]


def test_only_the_very_name_o_is_outside() -> None:
    labels, layout = read_tags(["O", "B-O", "I-O", "B-P"])
    assert labels == ("O", "P")
    assert layout.inside.tolist() == [[False, True, True, True]]
    labels, layout = read_tags(["0", "1"])
    assert labels == ("0", "1")
    assert layout.inside.all()
    with pytest.raises(UsageError, match="`id2label` must name a label behind each prefix, but 'B-' has none"):
        read_tags(["O", "B-", "I-X"])


def test_tags_without_prefixes_are_labels_and_neighbours_of_one_are_one_span() -> None:
    labels, layout = read_tags(["O", "LOC", "I-80"])
    assert labels == ("LOC", "I-80"), "one name without a prefix: none of them is one"
    assert np.array_equal(layout.continues[0], np.diag([False, True, True]))
