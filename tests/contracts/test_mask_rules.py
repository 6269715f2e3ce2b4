"""What every further rule of a mask promises; a new kind is found by being one of `MaskRuleKind`.

Whole numbers without a default get 2.
"""

from __future__ import annotations

from typing import Any, get_args

import pytest
import torch
from pydantic import ValidationError
from torch.autograd import gradcheck

from longdoc.checkpoints import load_encoder
from longdoc.checkpoints.native import save_encoder
from longdoc.nn import EncoderConfig
from longdoc.nn.mask_rules import MaskRule, MaskRuleKind
from nn_kit import padded, some_ids, tiny_encoder
from tokenizer_kit import toy


def example(kind: type[MaskRule]) -> MaskRule:
    return kind(**{name: 2 for name, field in kind.model_fields.items() if field.is_required()})


RULES = {rule.kind: rule for rule in map(example, get_args(MaskRuleKind))}
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


@every_rule
def test_a_configuration_is_strict_and_survives_json(rule: Any) -> None:
    config = EncoderConfig(masks=[rule.model_dump()])
    assert config.masks == (rule,)
    assert EncoderConfig.model_validate_json(config.model_dump_json()) == config
    with pytest.raises(ValidationError):
        EncoderConfig(masks=[{**rule.model_dump(), "surprise": 1}])


@every_rule
def test_a_mask_is_the_rule_pair_by_pair_and_every_token_sees_itself(rule: MaskRule) -> None:
    positions = torch.tensor([[0, 1, 2, 3, 4, 5, 6], [0, 0, 3, 1, 2, 9, 4]])
    allowed = rule.mask(positions).allowed
    assert allowed is not None
    assert allowed.shape == (2, 1, 7, 7)
    for row, order in enumerate(positions):
        for query in range(7):
            for key in range(7):
                assert allowed[row, 0, query, key] == bool(rule.allows(order[query], order[key]))
    assert allowed.diagonal(dim1=-2, dim2=-1).all()


@every_rule
def test_what_no_pair_allows_changes_nothing_and_what_one_allows_does(rule: MaskRule) -> None:
    encoder = tiny_encoder(masks=[rule.model_dump()], layers=1, position={"kind": "none"})
    ids = torch.tensor([some_ids(9)])
    allowed = rule.mask(torch.arange(9)[None]).allowed
    assert allowed is not None
    for key in range(9):
        changed = ids.clone()
        changed[0, key] = ids[0, key] % 40 + 1
        moved = (encoder(ids) - encoder(changed)).abs().amax(-1)[0] > 1e-6
        assert torch.equal(moved, allowed[0, 0, :, key])


@every_rule
@pytest.mark.parametrize("position", ["learned", "rotary", "shaw"])
def test_neither_padding_nor_a_packed_neighbour_changes_an_answer(rule: MaskRule, position: str) -> None:
    encoder = tiny_encoder(masks=[rule.model_dump()], position={"kind": position})
    texts = [some_ids(5), some_ids(7, seed=1)]
    with torch.no_grad():
        alone = [encoder(torch.tensor([text]))[0] for text in texts]
        for side in ("right", "left"):
            ids, valid = padded(texts, 16, side)
            found = encoder(ids, valid)
            for row, expected in enumerate(alone):
                torch.testing.assert_close(found[row][valid[row]], expected, atol=1e-5, rtol=0)
        packed = torch.tensor([texts[0] + texts[1]])
        found = encoder(packed, segments=torch.tensor([[0] * 5 + [1] * 7]))[0]
    torch.testing.assert_close(found, torch.cat(alone), atol=1e-5, rtol=0)


@every_rule
def test_gradients_are_those_of_the_function(rule: MaskRule) -> None:
    encoder = tiny_encoder(masks=[rule.model_dump()], layers=1, width=8, heads=2, feed_forward_width=8).double()
    ids = torch.tensor([some_ids(5)])
    word = encoder.word.weight.detach()[ids[0]].clone().requires_grad_()

    def run(rows: torch.Tensor) -> torch.Tensor:
        table = encoder.word.weight.detach().index_copy(0, ids[0], rows)
        return torch.func.functional_call(encoder, {"word.weight": table}, (ids,))

    assert len(set(ids[0].tolist())) == 5
    assert gradcheck(run, [word], fast_mode=True)


@every_rule
def test_it_is_saved_and_opened_again(rule: MaskRule, tmp_path: Any) -> None:
    encoder = tiny_encoder(masks=[rule.model_dump()])
    save_encoder(tmp_path / "mine", encoder, toy())
    again = load_encoder(tmp_path / "mine")
    assert again.config == encoder.config
    ids = torch.tensor([some_ids(9)])
    with torch.no_grad():
        assert torch.equal(again(ids), encoder(ids))


@every_rule
def test_global_tokens_see_past_it(rule: MaskRule) -> None:
    encoder = tiny_encoder(masks=[rule.model_dump()], layers=1, global_tokens=1, position={"kind": "none"})
    ids = torch.tensor([some_ids(30)])
    changed = ids.clone()
    changed[0, 29] = ids[0, 29] % 40 + 1
    with torch.no_grad():
        assert (encoder(ids)[0, 0] - encoder(changed)[0, 0]).abs().max() > 1e-6
