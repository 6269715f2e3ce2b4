"""Every family's numbers are those of transformers: states, scores of heads, in three precisions.

Each model is tiny and random, its weights large enough that a wrong one shows; each comparison has a negative control.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from transformers import AutoModelForMaskedLM, PreTrainedModel

from family_kit import TINY, difference, pad_id_of, ragged, reconfigure, saved, their_answer, their_model
from family_measures import FLOAT32, FLOAT64
from longdoc.checkpoints import load_encoder
from longdoc.checkpoints.classifiers import load_classifier
from longdoc.checkpoints.language_models import load_language_model, save_language_model, start_language_model
from longdoc.checkpoints.opening import FAMILIES
from longdoc.checkpoints.taggers import load_tagger
from longdoc.nn import Encoder, EncoderConfig
from longdoc.nn.layers import ACTIVATIONS
from nn_kit import batch_of
from tokenizer_kit import wrapped


@dataclass
class Case:
    family: str
    folder: Path
    theirs: PreTrainedModel
    ours: Encoder
    ids: torch.Tensor
    valid: torch.Tensor
    expected: torch.Tensor

    def found(self, encoder: Encoder | None = None, **arguments: Any) -> torch.Tensor:
        with torch.no_grad():
            return (self.ours if encoder is None else encoder)(self.ids, self.valid, **arguments)


def made(family: str, folder: Path, std: float = 0.15, **changes: Any) -> Case:
    theirs = their_model(family, std=std, **changes)
    ids, valid = ragged(pad_id=pad_id_of(family))
    expected = their_answer(theirs, ids, valid)
    return Case(family, folder, theirs, load_encoder(saved(theirs, folder)), ids, valid, expected)


@pytest.fixture(scope="module", params=[name for name in FAMILIES if name in TINY])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    return made(request.param, tmp_path_factory.mktemp(request.param))


def test_every_family_that_transformers_has_is_compared() -> None:
    elsewhere = {"neobert", "jina_bert_v2", "jina_bert_v2_code"}  # compared with formulas: test_foreign_encoders.py
    assert set(TINY) == set(FAMILIES) - elsewhere


def test_hidden_states(case: Case) -> None:
    assert difference(case.found(), case.expected, case.valid) <= FLOAT32.get(case.family, 1e-5)
    alone = their_answer(case.theirs, case.ids[:1], torch.ones_like(case.valid[:1]))
    with torch.no_grad():
        assert (case.ours(case.ids[:1]) - alone).abs().max() <= FLOAT32.get(case.family, 1e-5)


def test_float64_leaves_nothing_but_round_off(case: Case, tmp_path: Path) -> None:
    theirs = their_model(case.family, std=0.35).double()
    ours = load_encoder(saved(theirs, tmp_path))
    with torch.no_grad():
        found = ours(case.ids, case.valid)
    assert found.dtype == torch.float64
    expected = their_answer(theirs, case.ids, case.valid)
    assert difference(found, expected, case.valid) <= FLOAT64.get(case.family, 1e-10)


def test_sixteen_bits_are_no_noisier_than_in_transformers(case: Case, tmp_path: Path) -> None:
    theirs = their_model(case.family).to(torch.bfloat16)
    folder = saved(theirs, tmp_path)
    ours = load_encoder(folder)
    assert ours.word.weight.dtype == torch.float32, "sixteen-bit files are opened as float32"
    exact = case.found(ours)
    rough = case.found(ours.to(torch.bfloat16)).float()
    noise = (their_answer(theirs, case.ids, case.valid).float() - exact)[case.valid].square().mean().sqrt()
    assert (rough - exact)[case.valid].square().mean().sqrt() <= 1.5 * noise


@pytest.mark.parametrize("labels", [1, 3])
def test_scores_of_the_classifier(case: Case, labels: int, tmp_path: Path) -> None:
    theirs = their_model(case.family, "classifier", num_labels=labels)
    model, settings = load_classifier(saved(theirs, tmp_path))
    assert settings.labels == tuple(f"LABEL_{n}" for n in range(labels))
    assert settings.task == ("regression" if labels == 1 else "single_label")
    expected = their_answer(theirs, case.ids, case.valid)
    with torch.no_grad():
        assert (model(batch_of(case.ids, case.valid)) - expected).abs().max() <= FLOAT32.get(case.family, 1e-5)


def test_scores_of_the_tagger(case: Case, tmp_path: Path) -> None:
    if FAMILIES[case.family].tagger is None:
        pytest.skip("transformers has no token classification model of this family")
    theirs = their_model(case.family, "tagger", num_labels=5)
    encoder, head, labels = load_tagger(saved(theirs, tmp_path))
    assert labels == tuple(f"LABEL_{n}" for n in range(5))
    with torch.no_grad():
        found = head.classify(head.transform(encoder(case.ids, case.valid)))
    expected = their_answer(theirs, case.ids, case.valid)
    assert difference(found, expected, case.valid) <= FLOAT32.get(case.family, 1e-5)


def guesses_as_theirs(theirs: PreTrainedModel, folder: Path) -> None:
    encoder, head, is_new = start_language_model(folder)
    assert not is_new
    ids, valid = ragged(pad_id=pad_id_of(theirs.config.model_type))
    with torch.no_grad():
        found = head(encoder(ids, valid))
    expected = their_answer(theirs, ids, valid)
    assert difference(found, expected, valid) <= 2e-5  # scores are sums over the whole vocabulary's rows: up to 20


@pytest.mark.parametrize("family", [name for name in FAMILIES if name in TINY])
def test_scores_of_the_masked_language_model(family: str, tmp_path: Path) -> None:
    theirs = their_model(family, "language model")
    guesses_as_theirs(theirs, saved(theirs, tmp_path / "theirs"))
    encoder, head = load_language_model(tmp_path / "theirs")
    shared = theirs.get_input_embeddings().weight is theirs.get_output_embeddings().weight
    assert (head.output.weight is encoder.word.weight) == shared
    save_language_model(tmp_path / "ours", encoder, head, wrapped("byte_level"))
    again = AutoModelForMaskedLM.from_pretrained(tmp_path / "ours")
    assert all(torch.equal(tensor, theirs.state_dict()[name]) for name, tensor in again.state_dict().items())


def test_the_other_head_of_deberta_whatever_the_configuration_calls_it(tmp_path: Path) -> None:
    """DeBERTa 3 as it was published: the head of its authors, and a configuration that does not say so."""
    theirs = their_model("deberta-v2", "language model", legacy=False, num_hidden_layers=1)
    guesses_as_theirs(theirs, saved(theirs, tmp_path / "theirs"))
    reconfigure(tmp_path / "theirs", legacy=None)
    guesses_as_theirs(theirs, tmp_path / "theirs")
    encoder, head = load_language_model(tmp_path / "theirs")
    save_language_model(tmp_path / "ours", encoder, head, wrapped("byte_level"))
    ids, valid = ragged()
    again = AutoModelForMaskedLM.from_pretrained(tmp_path / "ours").eval()
    assert difference(their_answer(again, ids, valid), their_answer(theirs, ids, valid), valid) <= 1e-5


# -- negative controls: each switch, set wrong, must show


def shifted_positions(case: Case) -> torch.Tensor:
    """Twice as far apart: absolute and relative kinds both see it."""
    return case.found(positions=torch.arange(case.ids.shape[1])[None] // 2)


def rebuilt(case: Case, **changes: Any) -> Encoder:
    """The same weights under another configuration."""
    config = EncoderConfig.model_validate(case.ours.config.model_dump() | changes | {"family": None})
    encoder = Encoder(config).eval()
    encoder.load_state_dict(case.ours.state_dict())
    return encoder


def other_gelu(case: Case) -> torch.Tensor:
    other = {"gelu": "gelu_tanh", "silu": "gelu"}[case.ours.config.activation]
    assert other in ACTIVATIONS
    return case.found(rebuilt(case, activation=other))


def without_one_bias(case: Case) -> torch.Tensor | None:
    encoder = rebuilt(case)
    biases = [p for name, p in encoder.named_parameters() if name.startswith("layers.3.") and name.endswith("bias")]
    for bias in biases[-1:]:
        nn.init.zeros_(bias)
    return case.found(encoder) if biases else None


def other_eps(case: Case) -> torch.Tensor:
    return case.found(rebuilt(case, norm_eps=1e-2))


def position_with(case: Case, **changes: Any) -> torch.Tensor | None:
    position = case.ours.config.position.model_dump()
    if not set(changes) <= set(position):
        return None
    return case.found(rebuilt(case, position=position | changes))


def other_layout(case: Case) -> torch.Tensor | None:
    return position_with(case, layout="interleaved")


def other_theta(case: Case) -> torch.Tensor | None:
    return position_with(case, theta=500.0)


def wider_window(case: Case) -> torch.Tensor | None:
    window = case.ours.config.window
    if window is None:
        return None
    windows = window if isinstance(window, tuple) else (window,)
    return case.found(rebuilt(case, window=tuple(None if one is None else one + 1 for one in windows)))


def without_offset(case: Case) -> torch.Tensor | None:
    position = case.ours.config.position.model_dump()
    parts = position.get("parts", [position])
    if not any(part.get("offset") for part in parts):
        return None
    moved = copied_with_offset(case.ours, 0)
    return case.found(moved)


def copied_with_offset(encoder: Encoder, offset: int) -> Encoder:
    moved = copy.deepcopy(encoder)
    for module in moved.position.modules():
        if hasattr(module, "offset"):
            module.offset = offset
    return moved


CONTROLS: dict[str, Callable[[Case], torch.Tensor | None]] = {
    "positions": shifted_positions,
    "activation": other_gelu,
    "bias": without_one_bias,
    "eps": other_eps,
    "layout": other_layout,
    "theta": other_theta,
    "window": wider_window,
    "offset": without_offset,
}
"""None from a control: the family has no such switch."""


@pytest.mark.parametrize("switch", CONTROLS)
def test_a_wrong_model_is_told_from_round_off(case: Case, switch: str) -> None:
    found = CONTROLS[switch](case)
    if found is not None:
        assert difference(found, case.expected, case.valid) > 1e-4


def test_every_control_is_used_by_some_family() -> None:
    used = {"positions", "activation", "bias", "eps"}
    for name, family in FAMILIES.items():
        if name in TINY:
            config = family.config_from_hf(TINY[name])
            text = config.model_dump_json()
            used |= {field for field in ("layout", "theta", "offset") if f'"{field}"' in text}
            used |= {"window"} if config.window is not None else set()
    assert used == set(CONTROLS)


# -- odd shapes

SHAPES: dict[str, tuple[str, dict[str, Any]]] = {
    "odd width, three heads": ("bert", {"hidden_size": 51, "num_attention_heads": 3, "intermediate_size": 37}),
    "one head": ("roberta", {"num_attention_heads": 1}),
    "six heads": ("deberta-v2", {"num_attention_heads": 6}),
    "twelve heads": ("mpnet", {"num_attention_heads": 12}),
    "rotary heads of width 2": ("modernbert", {"num_attention_heads": 24}),
    "heads wider together than the model": ("eurobert", {"num_key_value_heads": 1, "head_dim": 22}),
    "one word": ("bert", {"vocab_size": 1, "pad_token_id": 0, "bos_token_id": None, "eos_token_id": None}),
    "many words": ("xlm-roberta", {"vocab_size": 250_000, "hidden_size": 8}),
    "one layer": ("modernbert", {"num_hidden_layers": 1}),
    "48 layers": ("modernbert", {"num_hidden_layers": 48}),
    "embeddings as wide as the layers": ("electra", {"embedding_size": 48}),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_odd_shapes(shape: str, tmp_path: Path) -> None:
    family, changes = SHAPES[shape]
    theirs = their_model(family, **changes)
    ours = load_encoder(saved(theirs, tmp_path))
    ids, valid = ragged((20, 9), pad_id=pad_id_of(family))
    ids = ids.clamp(max=theirs.config.vocab_size - 1)
    with torch.no_grad():
        assert difference(ours(ids, valid), their_answer(theirs, ids, valid), valid) <= FLOAT32.get(family, 1e-5)
