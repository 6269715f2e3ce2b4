"""What a person may write for a readout: one word, or its fields."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from longdoc.config import load_config
from longdoc.errors import ConfigurationError
from longdoc.nn.readout import LabelAttentionReadoutConfig, LogitsReadoutConfig, ReadoutConfig, VectorsReadoutConfig

READ = TypeAdapter(ReadoutConfig).validate_python


def test_one_word_is_enough() -> None:
    assert READ("label_attention") == LabelAttentionReadoutConfig()
    assert READ("logits") == LogitsReadoutConfig()
    assert READ({"merger": "max"}) == VectorsReadoutConfig.model_validate({"merger": {"kind": "max"}})
    assert READ({"kind": "logits", "merger": "noisy_or"}).merger.kind == "noisy_or"


def test_a_readout_that_names_no_kind_is_vectors() -> None:
    assert READ({"pooling": "cls"}) == VectorsReadoutConfig(pooling="cls")


def test_a_merger_of_scores_does_not_merge_vectors() -> None:
    with pytest.raises(ValidationError, match=r"`merger` noisy_or merges scores, not vectors\. Set the readout's"):
        READ({"merger": "noisy_or"})
    with pytest.raises(ValidationError, match=r"`merger` attention merges vectors, not scores\. Set the readout's"):
        READ({"kind": "logits", "merger": "attention"})
    with pytest.raises(ValidationError, match="does not match any of the expected tags"):
        READ({"merger": "unheard_of"})


def test_probabilities_are_not_merged_where_there_are_none() -> None:
    with pytest.raises(ConfigurationError) as refused:
        load_config(base={"model": {"task": "regression", "readout": {"kind": "logits", "merger": "noisy_or"}}})
    assert str(refused.value) == (
        "`model`: `readout.merger` noisy_or merges probabilities of labels, but a regression has none. Choose mean, "
        "max or logsumexp."
    )
    assert load_config(base={"model": {"task": "regression", "readout": {"kind": "logits", "merger": "max"}}})
