"""Rows of tokens: what the readout makes of each token of a chunk, or, while it learns from them, the tokens' states.

Scores are few numbers a token, but the head that gives them learns; states are D numbers a token and outlast its steps.
So an encoder that does not learn can be read once for many epochs.
"""

from __future__ import annotations

from longdoc.nn.readout.base import Readout

__all__ = ["BODY", "KeptStates"]

BODY = 510
"""Document tokens of a chunk of 512, where nobody says otherwise."""


class KeptStates(Readout):
    """A readout whose rows may hold states of tokens.

    Attributes:
        body: the most document tokens that a chunk has.
        keeps_states: whether rows hold states, see `keep_states`.
    """

    body = BODY
    keeps_states = False

    @property
    def learns_rows(self) -> bool:  # type: ignore[override]
        """What is made of tokens comes from the readout; states do not."""
        return not self.keeps_states

    def fit_chunks(self, body: int) -> None:
        self.body = body

    def keep_states(self, keep: bool) -> bool:
        self.keeps_states = keep
        return keep

    def row_recipe(self) -> str:
        return f"states of {self.kept_tokens}" if self.keeps_states else super().row_recipe()

    @property
    def kept_tokens(self) -> str:
        """Which tokens of a chunk those are, in words."""
        return f"{self.body} tokens"
