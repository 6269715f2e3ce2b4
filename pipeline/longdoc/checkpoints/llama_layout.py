"""Names of the tensors in checkpoints that follow LLaMA's layout: separate gate and up projections, norms first."""

from __future__ import annotations

from longdoc.checkpoints.keymap import KeyMap

__all__ = ["llama_keys"]


def llama_keys(prefix: str) -> KeyMap:
    """Between the names under `prefix` and ours."""
    layer = f"{prefix}.layers.{{}}"
    return KeyMap(
        [
            (f"{prefix}.embed_tokens", "word"),
            (f"{layer}.input_layernorm", "layers.{}.attention_norm"),
            (f"{layer}.self_attn.q_proj", "layers.{}.attention.query"),
            (f"{layer}.self_attn.k_proj", "layers.{}.attention.key"),
            (f"{layer}.self_attn.v_proj", "layers.{}.attention.value"),
            (f"{layer}.self_attn.o_proj", "layers.{}.attention.output"),
            (f"{layer}.post_attention_layernorm", "layers.{}.feed_forward_norm"),
            (f"{layer}.mlp.gate_proj", "layers.{}.feed_forward.gate"),
            (f"{layer}.mlp.up_proj", "layers.{}.feed_forward.inner"),
            (f"{layer}.mlp.down_proj", "layers.{}.feed_forward.output"),
            (f"{prefix}.norm", "final_norm"),
        ]
    )
