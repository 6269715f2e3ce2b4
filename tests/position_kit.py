"""Every kind of position encoding and some variants, for suites that hold for all of them.

A new kind is covered by being in the union. If it has fields without defaults, give it an example in `EXAMPLES`.
"""

from __future__ import annotations

from typing import Any, get_args

from longdoc.nn.position import PositionKind

EXAMPLES: dict[str, dict[str, Any]] = {
    "stacked": {"parts": [{"kind": "learned"}, {"kind": "rotary"}, {"kind": "buckets"}]},
}
VARIANTS: dict[str, dict[str, Any]] = {
    "sinusoidal halves": {"kind": "sinusoidal", "layout": "concat", "scale": True, "offset": 2},
    "weighted components": {"kind": "weighted", "axis": "dim"},
    "rotary pairs": {"kind": "rotary", "layout": "interleaved", "partial_rotary_factor": 0.5},
    "rotary stretched": {"kind": "rotary", "scaling": {"kind": "yarn", "factor": 4, "original_max_len": 64}},
    "rotary by layer": {"kind": "rotary", "theta": [160000, 10000]},
    "shaw keys": {"kind": "shaw", "clip": 3, "values": False, "per_layer": False},
    "t5": {"kind": "buckets", "scaled": False},
    "axial blocks": {"kind": "axial", "split": "blocks"},
    "axial sections": {"kind": "axial_rotary", "axes": [0, 1, 2], "sections": [2, 1, 1]},
    "tree over rotary": {"kind": "tree", "order": {"kind": "rotary"}},
    "language over alibi": {"kind": "language", "order": {"kind": "alibi"}},
    "gates over learned": {"kind": "language_gate", "shared": {"kind": "learned"}},
    "shaw beside learned": {"kind": "stacked", "parts": [{"kind": "learned"}, {"kind": "shaw"}]},
}
KINDS = [kind.model_fields["kind"].default for kind in get_args(PositionKind)]
CONFIGS = {kind: {"kind": kind} | EXAMPLES.get(kind, {}) for kind in KINDS} | VARIANTS
"""By name: the configurations as they stand in a file."""
