"""A tokenizer and an encoder that belong together: every id that the one gives is a row of the other's word table."""

from __future__ import annotations

from pathlib import Path

from longdoc.errors import CheckpointError
from longdoc.nn import EncoderConfig
from longdoc.text.tokenizing import DocumentTokenizer

__all__ = ["check_vocabulary", "read_tokenizer"]


def read_tokenizer(folder: Path, config: EncoderConfig) -> DocumentTokenizer:
    """The tokenizer of a folder, for the encoder of the same folder.

    Raises:
        CheckpointError: there is none, it is damaged, or it gives ids that the encoder does not know.
    """
    tokenizer = DocumentTokenizer.from_folder(folder)
    check_vocabulary(tokenizer, config, folder)
    return tokenizer


def check_vocabulary(tokenizer: DocumentTokenizer, config: EncoderConfig, folder: Path | None = None) -> None:
    """Refuse a tokenizer that gives ids beyond the encoder's word table.

    What counts is the highest id that a text can get, added tokens included: a control token that no text spells and
    the tokenizer does not put there itself may lie beyond. A table with more rows than tokens is usual.

    Args:
        folder: where both come from, for the message.

    Raises:
        CheckpointError: names both numbers.
    """
    highest = tokenizer.highest_id
    if highest < config.vocab_size:
        return
    place = "of the encoder" if folder is None else f"in `{folder / 'config.json'}`"
    raise CheckpointError(
        f"`vocab_size` {place} must be at least {highest + 1}, since the tokenizer gives ids up to {highest}, but is "
        f"{config.vocab_size} instead. Take the tokenizer that the encoder was trained with, or give the encoder a row "
        "for each token (`resize_token_embeddings` of transformers) and save both into one folder."
    )
