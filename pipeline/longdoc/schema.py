"""The base of every configuration section: strict, frozen, and silent about the values it refuses."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

__all__ = ["Config", "kind_by_word"]


class Config(BaseModel):
    """One section of the configuration.

    Unknown keys are refused, values cannot be changed after validation, and a validation error never prints
    the offending input (it may be a user's text).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, use_attribute_docstrings=True)


def kind_by_word(value: Any) -> Any:
    """`merger: max` in a file is short for `merger: {kind: max}`: what a tagged union validates first."""
    return {"kind": value} if isinstance(value, str) else value
