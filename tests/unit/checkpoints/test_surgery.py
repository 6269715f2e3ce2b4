"""Surgery on positions: the new encoder describes itself, the old one stays."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from longdoc.checkpoints import load_encoder
from longdoc.checkpoints.native import save_encoder
from longdoc.checkpoints.surgery import lengthen_positions, replace_position
from longdoc.errors import UsageError
from longdoc.nn.position import AlibiConfig, BucketsPosition, LearnedPosition, SinusoidalConfig
from longdoc.text.tokenizing import DocumentTokenizer
from nn_kit import some_ids, tiny_encoder


@pytest.fixture(scope="module")
def tokenizer(minilm_folder: Path) -> DocumentTokenizer:
    """Folders hold one; which one does not matter here."""
    return DocumentTokenizer.from_folder(minilm_folder)


@pytest.mark.parametrize("method", ["interpolate", "tile"])
@pytest.mark.parametrize(
    "position",
    [
        {"kind": "learned"},
        {"kind": "learned", "rows": 34, "offset": 2},
        {"kind": "stacked", "parts": [{"kind": "learned", "offset": 2}, {"kind": "buckets"}]},
    ],
    ids=["learned", "rows", "stacked"],
)
def test_a_longer_encoder_reads_longer_rows_and_says_so(
    position: dict, method: str, tmp_path: Path, tokenizer: DocumentTokenizer
) -> None:
    encoder = tiny_encoder(position=position, max_len=32)
    state = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
    longer = lengthen_positions(encoder, 70, method)
    assert (longer.max_tokens, longer.config.max_len) == (70, 70)
    long, short = torch.tensor([some_ids(70)]), torch.tensor([some_ids(20)])
    assert longer(long).isfinite().all()
    assert torch.equal(longer(short), encoder(short)) == (method == "tile")
    assert encoder.max_tokens == 32
    assert all(torch.equal(tensor, state[name]) for name, tensor in encoder.state_dict().items())
    save_encoder(tmp_path / "longer", longer, tokenizer)
    assert torch.equal(load_encoder(tmp_path / "longer")(long), longer(long))


def test_a_longer_bert_is_still_a_bert(minilm_folder: Path, tmp_path: Path, tokenizer: DocumentTokenizer) -> None:
    from transformers import BertModel

    longer = lengthen_positions(load_encoder(minilm_folder), 600)
    save_encoder(tmp_path / "longer", longer, tokenizer)
    theirs = BertModel.from_pretrained(tmp_path / "longer").eval()
    assert theirs.config.max_position_embeddings == 600
    ids = torch.randint(1000, 2000, (1, 600), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.allclose(longer(ids), theirs(ids).last_hidden_state, atol=1e-5)


def test_only_learned_tables_can_be_lengthened() -> None:
    message = (
        "`position` must be `learned`, or `stacked` with a learned part, but is `sinusoidal` instead. Only tables end; "
        "formulas and distances go on by themselves."
    )
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        lengthen_positions(tiny_encoder(position={"kind": "sinusoidal"}), 70)


def test_another_encoding_leaves_every_other_weight(
    minilm_folder: Path, tmp_path: Path, tokenizer: DocumentTokenizer
) -> None:
    encoder = load_encoder(minilm_folder)
    replaced = replace_position(encoder, AlibiConfig())
    assert encoder.config.family == "bert"
    assert replaced.config.family is None
    assert replaced.max_tokens is None
    mine, theirs = dict(replaced.named_parameters()), dict(encoder.named_parameters())
    assert set(theirs) - set(mine) == {"position.weight"}
    assert all(torch.equal(parameter, theirs[name]) for name, parameter in mine.items())
    ids = torch.randint(1000, 2000, (1, 700), generator=torch.Generator().manual_seed(0))
    save_encoder(tmp_path / "replaced", replaced, tokenizer)
    again = load_encoder(tmp_path / "replaced")
    assert again.config.position == AlibiConfig()
    with torch.no_grad():
        assert torch.equal(again(ids), replaced(ids))


def test_the_new_encoding_has_the_dtype_and_mode_of_the_old_one() -> None:
    encoder = tiny_encoder(position={"kind": "stacked", "parts": [{"kind": "learned"}, {"kind": "buckets"}]})
    longer = lengthen_positions(encoder.to(torch.bfloat16).train(), 600)
    learned, buckets = longer.position.parts
    assert isinstance(learned, LearnedPosition)
    assert isinstance(buckets, BucketsPosition)
    assert learned.weight.dtype == torch.bfloat16
    assert longer.position.training
    assert not replace_position(encoder.eval(), SinusoidalConfig()).position.training
