"""`config.json` comes from strangers: whatever stands in it, the answer is a configuration or one of our errors."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import save_file

from family_kit import TINY
from foreign_kit import CONFIGS
from longdoc.checkpoints import open_checkpoint
from longdoc.checkpoints.classifiers import holds_classifier, labels_of
from longdoc.checkpoints.opening import FAMILIES, family_of
from longdoc.errors import CheckpointError

JUNK: list[Any] = [
    *("x", "", -1, 0, 1, 3, 2.5, 1e30, 10**40, True, False, float("nan"), float("inf")),
    *(
        [],
        [1, "x"],
        {},
        {"rope_type": 7},
        {"full_attention": [1]},
        {"full_attention": {"rope_theta": "x"}},
        [None],
        {"0": 1},
    ),
]
MORE_KEYS = {
    *("rope_parameters", "rope_scaling", "rope_theta", "layer_types", "global_attn_every_n_layers", "head_dim", "dim"),
    *("num_key_value_heads", "classifier_dropout", "classifier_pooling", "classifier_activation", "pos_att_type"),
    *("pooler_hidden_act", "pooler_dropout", "cls_dropout", "seq_classif_dropout", "embedding_size", "norm_eps"),
    *(
        "hidden_act",
        "hidden_activation",
        "layer_norm_eps",
        "rms_norm_eps",
        "is_decoder",
        "type_vocab_size",
        "max_length",
    ),
    *("attention_head_size", "conv_kernel_size", "hidden_dropout_prob", "attention_bias", "norm_bias", "mlp_bias"),
    *("tie_word_embeddings", "position_embedding_type", "feed_forward_type", "auto_map", "_name_or_path", "dropout"),
}


def described(family: str) -> dict[str, Any]:
    return {"model_type": family} | (TINY[family] if family in TINY else CONFIGS[family])


@pytest.mark.parametrize("family", FAMILIES)
def test_every_value_of_every_key_gives_a_configuration_or_our_error(family: str) -> None:
    plain, known = described(family), FAMILIES[family]
    parts = [known.config_from_hf]
    parts += [known.classifier.readout] if known.classifier is not None else []
    parts += [known.tagger.head] if known.tagger is not None else []
    parts += [known.language_model.from_hf] if known.language_model is not None else []
    read = 0
    for part in parts:
        for key in sorted({*plain, *MORE_KEYS} - {"model_type"}):
            for junk in JUNK:
                with contextlib.suppress(CheckpointError):
                    part(plain | {key: junk})
                    read += 1
    assert read > 100, "most keys are none of a family's business"


@pytest.mark.parametrize("family", ["modernbert", "eurobert", "deberta-v2"])
def test_what_can_be_described_can_be_built_or_is_refused(family: str, tmp_path: Path) -> None:
    plain = described(family)
    save_file({}, tmp_path / "model.safetensors")
    for key in sorted(plain):
        for junk in (3, 7, []):
            (tmp_path / "config.json").write_text(json.dumps(plain | {key: junk}))
            with pytest.raises(CheckpointError):  # there are no weights; nothing else may be wrong
                open_checkpoint(tmp_path)


@pytest.mark.parametrize("junk", JUNK)
@pytest.mark.parametrize("key", ["architectures", "id2label", "num_labels", "model_type", "problem_type", "auto_map"])
def test_what_decides_what_a_folder_is_may_be_anything(key: str, junk: Any, tmp_path: Path) -> None:
    config = described("bert") | {"architectures": ["BertForSequenceClassification"], key: junk}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with contextlib.suppress(CheckpointError):
        assert holds_classifier(tmp_path) in (True, False)
    assert family_of(config) in (None, *FAMILIES.values())
    with contextlib.suppress(CheckpointError):
        assert len(labels_of(config)) >= 1
