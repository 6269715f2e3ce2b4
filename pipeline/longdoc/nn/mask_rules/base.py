"""What every further rule of a mask is: one comparison of the positions of a query and a key."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from longdoc.nn.mask import AttentionMask
from longdoc.schema import Config

__all__ = ["MaskRule"]


class MaskRule(Config):
    """A rule by which a query may attend to a key.

    It sees positions only, so that padding on either side and packed rows need nothing of their own. A token must be
    allowed to see itself: otherwise it could see nothing.
    """

    @abstractmethod
    def allows(self, query: Tensor, key: Tensor) -> Tensor:
        """Whether the query may attend to the key.

        Args:
            query, key: int64 positions, 0 or more, of shapes that broadcast.

        Returns:
            bool, of the shape that both have together.
        """

    def mask(self, positions: Tensor) -> AttentionMask:
        """The rule for rows of tokens at `positions`, integers, (1|N, L)."""
        positions = positions.to(torch.int64)  # differences of small or unsigned integers would wrap around
        return AttentionMask(self.allows(positions[:, None, :, None], positions[:, None, None, :]))
