"""The neural network: positions, masks, attention, encoder, mergers and readouts. It knows no documents."""

from __future__ import annotations

from longdoc.nn.encoder import Encoder
from longdoc.nn.encoder_config import EncoderConfig

__all__ = ["Encoder", "EncoderConfig"]
