"""The serialised state of a tokenizer (`tokenizer.json`), changed where it would not do what this package promises."""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any

__all__ = ["HIDDEN", "canonical_state", "working_state"]

HIDDEN = "\U0010ffff"
"""A noncharacter in front of control tokens, so that no text can spell one. Texts are shown without it."""


def canonical_state(state: dict[str, Any], control_tokens: Collection[str | None]) -> dict[str, Any]:
    """A copy with nothing in it that a user of the tokenizer may have set in passing: without truncation and padding,
    and with all of `control_tokens` marked as special."""
    state = copy.copy(state) | {"truncation": None, "padding": None}
    state["added_tokens"] = [
        token | {"special": token["special"] or token["content"] in control_tokens}
        for token in state.get("added_tokens") or ()
    ]
    return state


def working_state(state: dict[str, Any], control_tokens: Collection[str]) -> dict[str, Any]:
    """A copy that tokenizes the same, but for two things.

    A text cannot spell a control token: most models have them in their vocabulary and would find `</s>` there like any
    word. And offsets are not trimmed: trimming depends on where a piece begins, and ours is the same for all.
    """
    state = copy.deepcopy(state)
    model, post_processor = state["model"], state.get("post_processor")
    merged = {"".join(merge if isinstance(merge, list) else merge.split(" ")) for merge in model.get("merges", ())}

    def hidden(token: str) -> str:
        return HIDDEN + token if token in control_tokens and token not in merged else token

    vocabulary = model["vocab"]
    if isinstance(vocabulary, dict):
        model["vocab"] = {hidden(token): number for token, number in vocabulary.items()}
    else:
        model["vocab"] = [[hidden(token), score] for token, score in vocabulary]
    if isinstance(model.get("unk_token"), str):
        model["unk_token"] = hidden(model["unk_token"])
    for token in state["added_tokens"]:
        token["content"] = hidden(token["content"])
    for part in [post_processor, *post_processor.get("processors", ())] if post_processor else ():
        if "trim_offsets" in part:
            part["trim_offsets"] = False
    return state
