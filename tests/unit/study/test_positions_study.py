from pathlib import Path
from typing import get_args

import pytest
import torch

from longdoc.config import position_config
from longdoc.errors import ConfigurationError, UsageError
from longdoc.nn.position import Geometry, PositionKind, SinusoidalPosition
from longdoc.nn.position.alibi import alibi_slopes
from longdoc.study.masks import mask_of, mask_text, pairs_in_words, rules_in_words
from longdoc.study.positions import PositionStudy, health, study_positions

KINDS = [get_args(kind.model_fields["kind"].annotation)[0] for kind in get_args(PositionKind)]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "stacked"])
def test_every_kind_can_be_studied_and_nothing_in_it_is_broken(kind: str) -> None:
    study = study_positions(position_config(kind), width=64, heads=4, length=40)
    broken = [s for s in study.verdict if "NaN" in s or "wave" in s or "loses" in s]
    assert broken == []
    assert study.to_dict()["kind"] == kind


def test_what_is_added_is_the_formula() -> None:
    study = study_positions(position_config("sinusoidal"), width=64, length=30)
    assert study.verdict == []
    assert study.added is not None
    assert study.added[1, :4].tolist() == pytest.approx([0.8415, 0.5403, 0.6816, 0.7318], abs=5e-5)
    assert study.similarity is not None
    assert study.similarity[0] == pytest.approx(1.0)
    assert study.turned is None
    assert study.bias is None


def test_rotary_turns_and_its_product_depends_on_distance() -> None:
    study = study_positions(position_config("rotary"), width=64, heads=4, length=30)
    assert study.added is None
    assert study.agreement is not None
    angles = torch.tensor([10000 ** (-2 * i / 16) for i in range(8)])
    expected = torch.stack([torch.cos(angles * distance).mean() for distance in range(30)])
    assert torch.allclose(study.agreement.float(), expected, atol=1e-5)


def test_the_bias_of_alibi_falls_by_its_slopes() -> None:
    study = study_positions(position_config("alibi"), heads=6, width=48, length=20)
    by_distance = study.bias_by_distance
    assert by_distance is not None
    assert by_distance[:, 19].tolist() == [0.0] * 6
    assert (-by_distance[:, 20]).tolist() == pytest.approx(alibi_slopes(6))
    assert torch.equal(by_distance, by_distance.flip(-1))


def test_no_position_is_called_a_bag_of_words() -> None:
    study = study_positions(position_config("none"))
    assert study.verdict == ["no position is said at all: without a causal mask the encoder sees a bag of words"]


def broken(change: str) -> list[str]:
    values = SinusoidalPosition(16).vectors(torch.arange(60)[None])[0].clone()
    if change == "nan":
        values[7, 3] = float("nan")
    elif change == "constant":
        values[:] = values[0]
    elif change == "twins":
        values[50] = values[20]
    elif change == "wave":
        values[40:] *= 0.5
    study = PositionStudy("made", 60, added=values)
    return health(SinusoidalPosition(16), study)


def test_the_verdict_names_what_is_wrong() -> None:
    assert broken("nothing") == []
    assert broken("nan") == ["what is added holds NaN or infinity, first at position 7"]
    assert broken("constant") == ["what is added is the same at every position"]
    assert broken("twins") == ["what is added is the same at positions 20 and 50: they cannot be told apart"]
    assert broken("wave") == ["what is added breaks its wave pattern at position 40"]


def test_the_loss_of_precision_is_judged_at_the_asked_format() -> None:
    large = PositionStudy("made", 300, added=torch.arange(300, dtype=torch.float64)[:, None] / 1.0)
    assert any("is the same at positions 256 and 257" in s for s in health(SinusoidalPosition(1), large, "bf16"))
    assert health(SinusoidalPosition(1), large, "fp32") == []


def test_positions_past_a_table_are_a_finding() -> None:
    study = study_positions(position_config("learned", ["rows=10"]), length=50)
    assert study.verdict == ["positions from 10 on are refused"]
    assert study.length == 10
    assert study.added is not None
    assert study.added.shape == (10, 64)


def test_an_encoder_is_judged_at_its_own_geometry() -> None:
    geometry = Geometry(width=48, heads=3, head_width=32, layers=2, max_len=64, embedding_width=24)
    learned = study_positions(position_config("learned"), length=100, geometry=geometry)
    assert learned.verdict == ["positions from 64 on are refused"]
    assert learned.added is not None
    assert learned.added.shape == (64, 24)
    assert (learned.width, learned.heads) == (48, 3)
    rotary = study_positions(position_config("rotary"), length=5, geometry=geometry)
    assert rotary.turned is not None
    assert rotary.turned.shape == (5, 32)
    mixed = study_positions(position_config("disentangled"), length=5, geometry=geometry)
    assert mixed.bias is not None
    assert mixed.bias.shape == (3, 5, 5)


def test_an_unknown_number_format_is_named() -> None:
    with pytest.raises(UsageError, match=r"^`dtype` must be one of fp32, bf16, fp16, but is 'fp8' instead\.$"):
        study_positions(position_config("rotary"), dtype="fp8")


def test_a_wrong_kind_or_field_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"^`bas` is not a configuration key\. Did you mean `base`\?$"):
        position_config("sinusoidal", ["bas=5"])
    with pytest.raises(ConfigurationError, match="position"):
        position_config("sinusodal")


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_pictures_are_written(suffix: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need the extra `plots`")
    from longdoc.study.pictures import draw_mask
    from longdoc.study.position_pictures import draw_positions

    draw_positions(study_positions(position_config("sinusoidal"), length=20), tmp_path / f"a{suffix}")
    draw_positions(study_positions(position_config("none"), length=20), tmp_path / f"b{suffix}")
    allowed, rules = mask_of(12, window=2)
    draw_mask(allowed, rules, tmp_path / f"c{suffix}")
    for name in "abc":
        start = (tmp_path / f"{name}{suffix}").read_bytes()[:8]
        assert start == b"\x89PNG\r\n\x1a\n" if suffix == ".png" else start.startswith(b"<?xml")
    with pytest.raises(
        UsageError, match=r"^`output` of a picture must end in \.png or \.svg, but ends in '\.gif' instead\.$"
    ):
        draw_mask(allowed, rules, tmp_path / "c.gif")


def test_a_long_list_of_rules_stays_inside_the_picture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need the extra `plots`")
    from longdoc.study import pictures

    allowed, rules = mask_of(40, 4, True, 5, (7, 8, 9, 10), tuple(range(10)))
    figures = []
    monkeypatch.setattr(pictures, "save_figure", lambda plt, figure, path: figures.append(figure))
    pictures.draw_mask(allowed, rules, tmp_path / "m.png")
    (figure,) = figures
    figure.canvas.draw()
    for text in (figure._suptitle, figure.axes[0].title):
        box = text.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.width
    pictures.pyplot(tmp_path / "m.png").close(figure)


def test_masks_follow_the_rules_they_name() -> None:
    allowed, rules = mask_of(6, window=1, causal=True, padding=1)
    assert rules == ["window 1", "causal", "padding 1"]
    assert mask_text(allowed).splitlines() == ["#.....", "##....", ".##...", "..##..", "...##.", "...##."]
    packed, _ = mask_of(5, blocks=(3, 2))
    assert int(packed.sum()) == 13
    wide, rules = mask_of(6, window=1, global_tokens=(0,))
    assert rules == ["window 1 | global 0"]
    assert rules_in_words(rules) == "window 1 | global 0"
    assert rules_in_words([*rules, "causal"]) == "(window 1 | global 0) & causal"
    assert rules_in_words([]) == "no rule"
    assert wide[0].all()
    assert wide[:, 0].all()
    assert int(wide.sum()) == 16 + 8


def test_positions_of_a_mask_are_counted_from_real_tokens_and_anew_in_each_block() -> None:
    allowed, rules = mask_of(9, padding=1, padding_left=2, window=1, blocks=(3, 3), global_tokens=(0,))
    assert rules == ["window 1 | global 0", "blocks 3,3", "padding 1", "left padding 2"]
    assert mask_text(allowed[2:8]).splitlines() == [
        "..###....",
        "..###....",
        "..###....",
        ".....###.",
        ".....###.",
        ".....###.",
    ]
    wide, _ = mask_of(9, window=1, blocks=(4, 5), global_tokens=(0,))
    assert mask_text(wide[[2, 3, 4, 7]]).splitlines() == ["####.....", "#.##.....", "....#####", "....#.###"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"length": 4, "padding": 4}, r"^`padding` must be less than the length \(4\), but is 4 instead\.$"),
        (
            {"length": 4, "blocks": (3, 2)},
            r"^`blocks` must hold at most 4 tokens, the real ones, but hold 5 instead\.$",
        ),
        (
            {"length": 4, "padding": 2, "padding_left": 2},
            r"^`padding` must be less than the length \(4\), but is 4 instead\.$",
        ),
        (
            {"length": 4, "padding": 1, "blocks": (4,)},
            r"^`blocks` must hold at most 3 tokens, the real ones, but hold 4 instead\.$",
        ),
        (
            {"length": 4, "global_tokens": (0,)},
            r"^`global` needs a `window`: without one every token sees all of its text anyway\.$",
        ),
        (
            {"length": 4, "global_tokens": (4,)},
            r"^`global` must be in \[0, 4\), the tokens of the longest text, but reaches 4 ",
        ),
        (
            {"length": 5, "window": 1, "global_tokens": (3,), "padding": 3},
            r"^`global` must be in \[0, 2\), the tokens ",
        ),
        ({"length": 9, "window": 1, "global_tokens": (5,), "blocks": (4, 5)}, r"^`global` must be in \[0, 5\), the "),
    ],
)
def test_masks_refuse_what_cannot_be(arguments: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        mask_of(**arguments)


def test_what_is_left_of_a_row_is_said_to_be_a_text_of_its_own() -> None:
    assert mask_of(5, blocks=(3,))[1] == ["blocks 3,2 (the last is what is left)"]
    assert mask_of(5, blocks=(3, 2))[1] == ["blocks 3,2"]


def test_padding_counts_neither_as_key_nor_as_query() -> None:
    assert pairs_in_words(mask_of(5, padding=2)[0]) == "9 of 9 pairs of real tokens may attend"
    assert pairs_in_words(mask_of(4, padding_left=2, causal=True)[0]) == "3 of 4 pairs of real tokens may attend"
    assert pairs_in_words(mask_of(1)[0]) == "1 of 1 pair may attend"


@pytest.mark.parametrize(
    ("kind", "sizes", "message"),
    [
        (
            "learned",
            {"width": 10**9},
            "`length` x `width` must be at most 67,108,864 numbers to be studied, but is 100,000,000,000 instead. "
            "Study a smaller one.",
        ),
        (
            "rotary",
            {"width": 800, "heads": 100, "length": 4096},
            "`heads` x `length` x `length` must be at most 268,435,456 numbers to be studied, but is 1,677,721,600 "
            "instead. Study a smaller one.",
        ),
    ],
)
def test_what_no_memory_holds_is_refused_at_once(kind: str, sizes: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        study_positions(position_config(kind), **sizes)
    assert str(refused.value) == message
