from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, get_args

import pytest
import torch

from longdoc.config import position_config
from longdoc.nn.position import PositionKind
from longdoc.study.masks import mask_of
from longdoc.study.positions import PositionStudy, study_positions

pytest.importorskip("matplotlib", reason="pictures need the extra `plots`")
from longdoc.study import pictures, position_pictures

KINDS = [get_args(kind.model_fields["kind"].annotation)[0] for kind in get_args(PositionKind)]


@pytest.fixture
def figure_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    made: list[Any] = []
    monkeypatch.setattr(position_pictures, "save_figure", lambda plt, figure, path: made.append(figure))

    def draw(study: PositionStudy) -> Any:
        position_pictures.draw_positions(study, tmp_path / "p.png")
        return made[-1]

    yield draw
    for figure in made:
        pictures.pyplot(tmp_path / "p.png").close(figure)


def titles(figure: Any) -> list[str]:
    return [axis.get_title() for axis in figure.axes if axis.get_title()]


@pytest.mark.parametrize("kind", KINDS)
def test_every_panel_of_every_kind_says_what_its_axes_are(kind: str, figure_of) -> None:
    parts = ["parts=[{kind: learned}, {kind: alibi}]"] if kind == "stacked" else []
    figure = figure_of(study_positions(position_config(kind, parts), 48, 3, 12, "bf16"))
    assert figure._suptitle.get_text().startswith(f"{kind}, 12 positions, width 48, 3 heads, bf16: ")
    panels = [axis for axis in figure.axes if axis.get_title()]
    assert panels or kind == "none"
    for axis in panels:
        assert axis.get_xlabel()
        assert axis.get_ylabel()
    for bar in [axis for axis in figure.axes if axis.get_label() == "<colorbar>"]:
        assert bar.get_ylabel()


def test_long_findings_stay_inside_the_picture(figure_of) -> None:
    findings = ["something is wrong with what is said at these positions, and it is told in a long sentence"] * 4
    figure = figure_of(PositionStudy("made", 6, added=torch.ones(6, 4, dtype=torch.float64), verdict=findings))
    figure.canvas.draw()
    box = figure._suptitle.get_window_extent()
    assert (box.x0 >= 0, box.x1 <= figure.bbox.width, box.y1 <= figure.bbox.height) == (True, True, True)
    assert figure.axes[0].title.get_window_extent().y1 <= box.y0


def test_further_axes_have_panels_of_their_own(figure_of) -> None:
    assert titles(figure_of(study_positions(position_config("axial"), 16, 2, 12))) == [
        "added to embeddings",
        "similarity to position 0",
        "what axis 1 adds beyond step 0",
        "what axis 2 adds beyond step 0",
        "similarity of what is added: each cell and the middle one (x)",
    ]
    assert "what depth (axis 1) adds beyond step 0" in titles(
        figure_of(study_positions(position_config("depth"), 16, 2, 4))
    )


def test_heads_that_agree_share_a_curve_and_left_out_heads_are_counted(figure_of) -> None:
    def legend(kind: str, heads: int) -> tuple[str, list[str]]:
        figure = figure_of(study_positions(position_config(kind), 8 * heads, heads, 12))
        axis = next(axis for axis in figure.axes if axis.get_title().startswith("bias"))
        return axis.get_title(), [text.get_text() for text in axis.get_legend().get_texts()]

    assert legend("shaw", 4) == ("bias of the scores", ["heads 0 to 3"])
    title, names = legend("alibi", 12)
    assert title == "bias of the scores, 8 of 12 heads drawn"
    assert names == [f"head {n}" for n in (0, 2, 3, 5, 6, 8, 9, 11)]


def test_nan_has_a_colour_and_leaves_the_scale_alone(figure_of) -> None:
    added = torch.ones(6, 4, dtype=torch.float64) * 2
    added[3] = float("nan")
    added[4, 0] = float("-inf")
    figure = figure_of(PositionStudy("made", 6, added=added))
    image = figure.axes[0].images[0]
    assert (image.norm.vmin, image.norm.vmax) == (-2.0, 2.0)
    assert image.get_array().mask.sum() == 5
    assert figure.axes[1].get_ylabel() == "value (green: NaN or infinite)"
    everything = figure_of(PositionStudy("made", 2, added=torch.full((2, 2), float("nan"), dtype=torch.float64)))
    assert everything.axes[0].images[0].norm.vmax == 1.0


@pytest.mark.parametrize("bad", [float("nan"), float("-inf")])
def test_a_curve_marks_where_it_is_not_finite(bad: float, figure_of) -> None:
    bias = torch.zeros(1, 5, 5)
    bias[0, 0, 3] = bad
    axis = figure_of(PositionStudy("made", 5, bias=bias)).axes[0]
    crosses = axis.lines[-1]
    assert crosses.get_label() == "NaN or infinite"
    assert list(crosses.get_xdata()) == [3]


def test_one_position_has_no_empty_panels_and_whole_ticks(figure_of) -> None:
    figure = figure_of(study_positions(position_config("sinusoidal"), length=1))
    assert titles(figure) == ["added to embeddings"]
    assert figure._suptitle.get_text().startswith("sinusoidal, 1 position, ")
    assert all(float(tick).is_integer() for tick in figure.axes[0].get_yticks())
    assert (
        "at position 0" in figure_of(study_positions(position_config("rotary"), length=1)).axes[0].texts[0].get_text()
    )


@pytest.mark.parametrize("name", ["a.PNG", "a.Svg"])
def test_suffixes_are_taken_in_any_case(name: str, tmp_path: Path) -> None:
    position_pictures.draw_positions(study_positions(position_config("learned"), length=5), tmp_path / name)
    start = (tmp_path / name).read_bytes()[:8]
    assert start == b"\x89PNG\r\n\x1a\n" if name.endswith("PNG") else start.startswith(b"<?xml")


def test_an_svg_is_whole_and_its_drawings_lie_inside(tmp_path: Path) -> None:
    position_pictures.draw_positions(study_positions(position_config("depth"), 16, 2, 4), tmp_path / "a.svg")
    root = ET.parse(tmp_path / "a.svg").getroot()
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    places = [
        (float(x), float(y))
        for each in root.iter("{http://www.w3.org/2000/svg}g")
        for x, y in re.findall(r"^translate\(([-\d.]+) ([-\d.]+)\)", each.attrib.get("transform", ""))
    ]
    assert len(places) > 50
    assert all(0 <= x <= width and 0 <= y <= height for x, y in places)


def test_the_picture_of_a_mask_has_a_legend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made: list[Any] = []
    monkeypatch.setattr(pictures, "save_figure", lambda plt, figure, path: made.append(figure))
    pictures.draw_mask(*mask_of(6, window=1), tmp_path / "m.png")
    (figure,) = made
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["may attend", "may not"]
    image = figure.axes[0].images[0]
    for pair, patch in ((True, legend.get_patches()[0]), (False, legend.get_patches()[1])):
        assert image.cmap(image.norm(float(pair))) == pytest.approx(patch.get_facecolor())
    pictures.pyplot(tmp_path / "m.png").close(figure)
