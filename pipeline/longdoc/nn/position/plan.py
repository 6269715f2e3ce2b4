"""The plan of one forward pass: what a position encoding says to each layer.

Shape letters: N rows, L padded length, D width of the model, H heads, Dh width of a head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from longdoc.errors import UsageError

__all__ = ["PositionPlan", "ProjectQueriesKeys", "StackedPlan", "ValueTerm"]

ValueTerm = Callable[[Tensor], Tensor]
"""(N, H, L, L) attention weights -> (N, H, L, Dh), added to the weighted sum of the values."""

ProjectQueriesKeys = Callable[[Tensor], tuple[Tensor, Tensor]]
"""(R, D) -> two of (H, R, Dh): the layer's own query and key projections, applied to R rows of a table."""


class PositionPlan:
    """Position for one forward pass, made once and asked by every layer. A value; it owns no parameters.

    This class is also the plan of every encoding that has nothing to say to the layers.
    """

    scale: float | None = None
    """Factor of the query-key products; None = 1 / sqrt(Dh)."""

    @property
    def leaves_scores_alone(self) -> bool:
        """Whether there is neither a bias nor a value term in any layer, so that a kernel needs to know of none."""
        speaking = ("bias", "content_bias", "value_term")
        return all(getattr(type(self), name) is getattr(PositionPlan, name) for name in speaking)

    def rotate(self, q: Tensor, k: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        """Queries and keys (N, H, L, Dh) of layer `layer`, with position in them."""
        return q, k

    def bias(self, q: Tensor, layer: int) -> Tensor | None:
        """What is added to the scaled scores of layer `layer`: (1|N, 1|H, L, L), or None for nothing."""
        return None

    def content_bias(self, q: Tensor, k: Tensor, project: ProjectQueriesKeys, layer: int) -> Tensor | None:
        """The bias for kinds that also need the keys or the layer's own projections (disentangled attention).

        This is what the layer calls. All other kinds define `bias` and leave this alone.
        """
        return self.bias(q, layer)

    def value_term(self, layer: int) -> ValueTerm | None:
        """What is added to the output, as a function of the attention weights (Shaw et al. 2018), or None."""
        return None


class StackedPlan(PositionPlan):
    """The plans of the parts: rotations one after the other, biases and value terms summed."""

    def __init__(self, plans: Sequence[PositionPlan]) -> None:
        self.plans = plans
        scales = {plan.scale for plan in plans if plan.scale is not None}
        if len(scales) > 1:
            raise UsageError(f"Stacked encodings must agree on one scale of the scores, but ask for {sorted(scales)}.")
        self.scale = scales.pop() if scales else None

    @property
    def leaves_scores_alone(self) -> bool:
        return all(plan.leaves_scores_alone for plan in self.plans)

    def rotate(self, q: Tensor, k: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        for plan in self.plans:
            q, k = plan.rotate(q, k, layer)
        return q, k

    def bias(self, q: Tensor, layer: int) -> Tensor | None:
        return _sum([plan.bias(q, layer) for plan in self.plans])

    def content_bias(self, q: Tensor, k: Tensor, project: ProjectQueriesKeys, layer: int) -> Tensor | None:
        return _sum([plan.content_bias(q, k, project, layer) for plan in self.plans])

    def value_term(self, layer: int) -> ValueTerm | None:
        terms = [term for plan in self.plans if (term := plan.value_term(layer)) is not None]
        if not terms:
            return None

        def total(weights: Tensor) -> Tensor:
            result = terms[0](weights)
            for term in terms[1:]:
                result = result + term(weights)
            return result

        return total


def _sum(terms: Sequence[Tensor | None]) -> Tensor | None:
    total: Tensor | None = None
    for term in terms:
        if term is not None:
            total = term if total is None else total + term
    return total
