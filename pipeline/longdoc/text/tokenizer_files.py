"""The files of a tokenizer in a model folder, under the names that `transformers` gives them."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from longdoc.errors import CheckpointError

__all__ = ["CONTROL_TOKENS", "VOCABULARIES", "TokenizerFiles", "read_files", "token_content", "write_files"]

CONTROL_TOKENS = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token", "bos_token", "eos_token")

VOCABULARIES = ("vocab.txt", "vocab.json", "merges.txt", "spiece.model", "spm.model", "sentencepiece.bpe.model")
"""Files from which a `tokenizer.json` was once made; they are carried along."""

_SHORTEST = 4
"""The fewest tokens of a chunk that can be meant: two special ones and some of the text."""

logger = logging.getLogger(__name__)

_UNLIMITED = int(1e30)  # what transformers writes for "no limit"


class TokenizerFiles(NamedTuple):
    """The content of a tokenizer's files.

    Attributes:
        serialised: `tokenizer.json`.
        settings: `tokenizer_config.json`, with the control tokens of `special_tokens_map.json`, and as
            `model_max_length` the `max_position_embeddings` of `config.json` where nothing else is said.
        vocabularies: the files from which `tokenizer.json` was once made, by name.
    """

    serialised: str
    settings: dict[str, Any]
    vocabularies: dict[str, bytes]


def token_content(token: Any) -> str | None:
    """The text of a token that a configuration gives as a string or as `{"content": ...}`."""
    content = token.get("content") if isinstance(token, Mapping) else token
    return content if isinstance(content, str) else None


def read_files(folder: Path) -> TokenizerFiles:
    """Read what a model folder says about its tokenizer.

    Raises:
        CheckpointError: there is no `tokenizer.json`, or one of the files cannot be read.
    """
    if not (folder / "tokenizer.json").is_file():
        raise CheckpointError(
            f"The model folder `{folder.name}` must hold a `tokenizer.json`, but does not. Make one with "
            f"`AutoTokenizer.from_pretrained(...).save_pretrained(...)`."
        )
    settings: dict[str, Any] = {"model_max_length": _read_json(folder / "config.json").get("max_position_embeddings")}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        settings |= {key: value for key, value in _read_json(folder / name).items() if value is not None}
    limit = settings["model_max_length"]
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int | float) or not limit >= _SHORTEST):
        logger.warning(
            "`model_max_length` of the tokenizer in %s must be a number of at least %d or null, but is %s instead. It "
            "is not heeded: chunks are as long as the encoder allows. Correct `tokenizer_config.json`, or set "
            "`chunking.size`.",
            folder,
            _SHORTEST,
            json.dumps(limit)[:60],
        )
        settings["model_max_length"] = None
    vocabularies = {name: (folder / name).read_bytes() for name in VOCABULARIES if (folder / name).is_file()}
    serialised = (folder / "tokenizer.json").read_text(encoding="utf-8", errors="replace")
    return TokenizerFiles(serialised, settings, vocabularies)


def write_files(folder: Path, files: TokenizerFiles) -> None:
    """Write them so that `AutoTokenizer` opens the folder without running code from it."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": _UNLIMITED} | {
        key: value for key, value in files.settings.items() if value is not None
    }
    if settings.pop("auto_map", None):
        settings["tokenizer_class"] = "PreTrainedTokenizerFast"
    tokens = {name: settings[name] for name in CONTROL_TOKENS if name in settings}
    (folder / "tokenizer.json").write_text(files.serialised, encoding="utf-8")
    for name, content in (("tokenizer_config.json", settings), ("special_tokens_map.json", tokens)):
        (folder / name).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    for name, data in files.vocabularies.items():
        (folder / name).write_bytes(data)


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise CheckpointError(f"`{path.name}` must hold a JSON object, but does not. Fetch the model folder again.")
    return content
