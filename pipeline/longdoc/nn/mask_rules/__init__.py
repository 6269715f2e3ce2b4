"""Rules of masks beside those that the checkpoint families have (`nn/mask.py`), one kind a file.

`MaskRuleKind` is the only list of kinds.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from longdoc.nn.mask_rules.base import MaskRule
from longdoc.nn.mask_rules.dilated import DilatedRule
from longdoc.nn.mask_rules.local_blocks import LocalBlocksRule
from longdoc.nn.mask_rules.prefix import PrefixRule
from longdoc.schema import kind_by_word

__all__ = ["DilatedRule", "LocalBlocksRule", "MaskRule", "MaskRuleConfig", "MaskRuleKind", "PrefixRule"]

# A new kind is one file and one name in this line.
MaskRuleKind = DilatedRule | LocalBlocksRule | PrefixRule

MaskRuleConfig = Annotated[MaskRuleKind, Field(discriminator="kind"), BeforeValidator(kind_by_word)]
"""A rule by its `kind`."""
