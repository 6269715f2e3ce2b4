"""Edits of a serialised tokenizer."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from longdoc.text.tokenizer_state import HIDDEN, canonical_state, working_state
from longdoc.text.tokenizing import DocumentTokenizer
from tokenizer_kit import KINDS, NAMES, RAW, raw

STATE: dict[str, Any] = {
    "truncation": {"max_length": 7},
    "padding": {"pad_id": 3},
    "added_tokens": [{"content": "</s>", "special": False, "id": 1}, {"content": "  ", "special": False, "id": 2}],
    "post_processor": {"type": "Sequence", "processors": [{"type": "ByteLevel", "trim_offsets": True}, {"type": "X"}]},
    "model": {"type": "BPE", "unk_token": "<unk>", "vocab": {"</s>": 1, "<unk>": 0, "a": 2}, "merges": []},
}


def test_the_canonical_state_has_no_settings_of_a_user() -> None:
    given = copy.deepcopy(STATE)
    state = canonical_state(given, ["</s>", None])
    assert given == STATE
    assert (state["truncation"], state["padding"]) == (None, None)
    assert [token["special"] for token in state["added_tokens"]] == [True, False]
    assert state["model"] == STATE["model"]
    assert canonical_state({"model": {}, "added_tokens": None}, [])["added_tokens"] == []


def test_the_working_state_hides_control_tokens_and_trims_nothing() -> None:
    given = copy.deepcopy(STATE)
    state = working_state(given, {"</s>", "<unk>"})
    assert given == STATE
    assert state["model"]["vocab"] == {HIDDEN + "</s>": 1, HIDDEN + "<unk>": 0, "a": 2}
    assert state["model"]["unk_token"] == HIDDEN + "<unk>"
    assert [token["content"] for token in state["added_tokens"]] == [HIDDEN + "</s>", "  "]
    assert state["post_processor"]["processors"] == [{"type": "ByteLevel", "trim_offsets": False}, {"type": "X"}]


def test_a_vocabulary_may_be_a_list_and_a_post_processor_single_or_missing() -> None:
    state = {"added_tokens": [], "model": {"vocab": [["<s>", 0.0], ["a", -1.0]], "unk_id": 0}, "post_processor": None}
    assert working_state(state, {"<s>"})["model"]["vocab"] == [[HIDDEN + "<s>", 0.0], ["a", -1.0]]
    single = STATE | {"post_processor": {"type": "RobertaProcessing", "trim_offsets": True}}
    assert working_state(single, set())["post_processor"] == {"type": "RobertaProcessing", "trim_offsets": False}


@pytest.mark.parametrize("merges", [[["<", "s>"]], ["< s>"]])
def test_a_token_that_merges_make_keeps_its_name(merges: list[Any]) -> None:
    model = {"vocab": {"<": 0, "s>": 1, "<s>": 2}, "merges": merges}
    assert "<s>" in working_state({"added_tokens": [], "model": model}, {"<s>"})["model"]["vocab"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_token_keeps_its_number(kind: str) -> None:
    wrapped = DocumentTokenizer(RAW[kind]().to_str(), {} if kind.startswith("word") else NAMES)
    numbers = raw(kind).get_vocab()
    serialised = json.loads(wrapped.__reduce__()[1][0])
    assert {token.removeprefix(HIDDEN): number for token, number in wrapped._tokenizer.get_vocab().items()} == numbers
    assert serialised["truncation"] is None
    assert serialised["padding"] is None
