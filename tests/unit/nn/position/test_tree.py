"""Positions in a tree: paths as stacks, depths, and the trees of documents."""

from __future__ import annotations

import itertools
import re

import pytest
import torch

from longdoc.errors import UsageError
from longdoc.nn.position import (
    DepthConfig,
    DepthPosition,
    Geometry,
    SinusoidalPosition,
    TreeConfig,
    TreePosition,
    stack_axes,
    tree_steps,
)
from reference.distances import path_slowly

GEOMETRY = Geometry(width=24, heads=3, head_width=8, layers=1, max_len=9)


def vectors(encoding: TreePosition, paths: list[tuple[int, ...]]) -> torch.Tensor:
    """Paths of children counted from 0 -> (paths, D)."""
    steps = [[path[level] + 1 if level < len(path) else 0 for path in paths] for level in range(len(encoding.axes))]
    axes = [torch.tensor([step]) for step in steps]
    return encoding.vectors(stack_axes(torch.arange(len(paths))[None], *axes))[0]


def all_paths(branching: int, steps: int) -> list[tuple[int, ...]]:
    return [path for n in range(steps + 1) for path in itertools.product(range(branching), repeat=n)]


@pytest.mark.parametrize(("branching", "steps", "decays"), [(2, 3, 2), (3, 2, 4), (4, 1, 1)])
def test_equals_the_stack_of_the_paper(branching: int, steps: int, decays: int) -> None:
    width = branching * steps * decays + 1
    encoding = TreePosition(width, tuple(range(1, steps + 1)), branching).double()
    with torch.no_grad():
        encoding.decay.copy_(torch.linspace(-0.4, 1.3, decays))
    paths = all_paths(branching, steps)
    ours = vectors(encoding, paths)
    for path, row in zip(paths, ours, strict=True):
        expected = path_slowly(path, steps, branching, torch.tanh(encoding.decay).tolist())
        assert row.tolist() == pytest.approx([*expected, 0.0], abs=1e-12), path


def test_the_root_is_zero_all_nodes_differ_and_a_child_is_its_parent_shifted() -> None:
    encoding = TreePosition(24, (1, 2, 3), 2).double()
    paths = all_paths(2, 3)
    rows = dict(zip(paths, vectors(encoding, paths), strict=True))
    assert (rows[()] == 0).all()
    assert len({tuple(row.tolist()) for row in rows.values()}) == len(paths)
    decays = torch.tanh(encoding.decay)
    for path in all_paths(2, 2):
        child, parent = rows[(*path, 1)].view(3, 2, -1), rows[path].view(3, 2, -1)
        assert torch.allclose(child[1:], parent[:-1] * decays)


def test_children_past_the_last_count_as_the_last() -> None:
    encoding = TreePosition(24, (1, 2), 4)
    rows = vectors(encoding, [(3,), (9,), (2,)])
    assert torch.equal(rows[0], rows[1])
    assert not torch.equal(rows[0], rows[2])


def test_a_level_that_is_left_out_is_no_step() -> None:
    encoding = TreePosition(24, (1, 2, 3), 4)
    positions = stack_axes(*torch.tensor([[[0, 1]], [[0, 2]], [[2, 0]], [[1, 1]]]))
    first, second = encoding.vectors(positions)[0]
    assert torch.equal(first, second), "path 2, 1 either way"


def test_a_text_without_structure_has_the_order_alone() -> None:
    x, order = torch.randn(2, 9, 24), torch.arange(9)[None]
    expected = SinusoidalPosition(24).embed(x, order)
    tree = TreeConfig().build(GEOMETRY)
    assert torch.equal(tree.embed(x, order), expected)
    assert torch.equal(tree.embed(x, stack_axes(order, *[order * 0] * 3)), expected)
    steps = tree_steps(9, [[(1, 8)], [(1, 5), (5, 8)], []])
    assert not torch.equal(tree.embed(x, stack_axes(order, *steps[:, None])), expected)


def test_the_order_may_be_any_kind() -> None:
    encoding = TreeConfig(order={"kind": "rotary"}).build(GEOMETRY)
    q = torch.randn(1, 1, 4, 8)
    order = torch.arange(4)[None]
    plan = encoding.plan(stack_axes(order, order, order, order), torch.float32)
    assert not torch.equal(plan.rotate(q, q, 0)[0], q)


def test_depth_adds_its_row_and_deeper_counts_as_deepest() -> None:
    encoding = DepthPosition(3, max_depth=2)
    with torch.no_grad():
        encoding.weight.copy_(torch.arange(3.0)[:, None].expand(3, 3))
    order, depth = torch.arange(4)[None], torch.tensor([[0, 1, 2, 9]])
    out = encoding.embed(torch.zeros(1, 4, 3), stack_axes(order, depth))
    assert out[0, :, 0].tolist() == [0.0, 1.0, 2.0, 2.0]
    assert encoding.embed(torch.zeros(1, 4, 3), order).tolist() == torch.zeros(1, 4, 3).tolist()


def test_depth_alone_cannot_tell_siblings_apart_and_comes_with_an_order() -> None:
    siblings = stack_axes(torch.tensor([[0, 1]]), torch.tensor([[1, 1]]))
    x = torch.zeros(1, 2, 24)
    first, second = DepthPosition(24).embed(x, siblings)[0]
    assert torch.equal(first, second)
    first, second = DepthConfig().build(GEOMETRY).embed(x, siblings)[0]
    assert not torch.equal(first, second)


def test_the_tree_of_a_document() -> None:
    sections = [(3, 9), (9, 11)]
    paragraphs = [(1, 3), (3, 6), (6, 9), (9, 11)]
    sentences = [(1, 3), (3, 4), (4, 6), (6, 9), (9, 11)]
    steps = tree_steps(12, [sections, paragraphs, sentences])
    assert steps.tolist() == [
        [0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 0],
        [0, 3, 3, 1, 1, 1, 2, 2, 2, 1, 1, 0],  # the paragraph before the first section is a child of the root
        [0, 1, 1, 1, 2, 2, 1, 1, 1, 1, 1, 0],
    ]
    paths = {tuple(step for step in path if step) for path in zip(*steps.tolist(), strict=True)}
    assert len(paths) == 6, "five sentences and the root, all different"


@pytest.mark.parametrize("ranges", [[(0, 0)], [(2, 13)], [(-1, 2)], [(0, 3), (2, 5)]])
def test_ranges_that_overlap_or_leave_the_document_are_refused(ranges: list[tuple[int, int]]) -> None:
    message = (
        "Ranges of level 1 must be apart and satisfy 0 <= start < end <= 12, but one is "
        f"({ranges[-1][0]}, {ranges[-1][1]})."
    )
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        tree_steps(12, [[(0, 12)], ranges])


def test_defaults_fit_narrow_encoders_too() -> None:
    for width, branching in ((6, 1), (24, 4), (768, 16)):
        built = TreeConfig().build(Geometry(width=width, heads=1, head_width=width, layers=1, max_len=9))
        (tree,) = (part for part in built.parts if isinstance(part, TreePosition))
        assert tree.branching == branching


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: TreePosition(8, (1, 2, 3), 4),
            "`branching` must be at least 1 and at most 2, the width (8) shared by 3 steps, but is 4 instead.",
        ),
        (lambda: TreePosition(8, (0, 1)), "`axes` must be numbers of further axes, 1 or more, but is (0, 1) instead."),
        (lambda: DepthPosition(8, max_depth=0), "`max_depth` must be at least 1, but is 0 instead."),
        (lambda: DepthPosition(8, axis=0), "`axis` must be the number of a further axis, 1 or more, but is 0 instead."),
    ],
)
def test_impossible_settings_are_refused(make, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        make()


def test_a_child_does_not_cross_the_border_of_its_parent() -> None:
    message = (
        "Ranges of level 1 must each lie inside one range of the level above or outside of all, but (2, 4) crosses a "
        "border. Cut it there."
    )
    for parents in ([(0, 3)], [(0, 3), (3, 6)], [(3, 6)]):
        with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
            tree_steps(6, [parents, [(2, 4)]])
    assert tree_steps(6, [[(0, 3)], [(1, 3), (3, 5)]]).tolist() == [[1, 1, 1, 0, 0, 0], [0, 1, 1, 2, 2, 0]]
