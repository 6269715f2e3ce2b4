"""Our model folder: the layout of transformers, plus `longdoc.json`.

`config.json` and `model.safetensors` have transformers' names wherever its family can describe the encoder, so that
`BertModel.from_pretrained` and `AutoTokenizer.from_pretrained` open the folder too; with a head that the family has,
so does `AutoModelForSequenceClassification`, `...TokenClassification` or `...QuestionAnswering`. Other encoders have
`model_type` "longdoc" and our names.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from longdoc.checkpoints.answerers import holds_answerer, load_question_answerer
from longdoc.checkpoints.claims import contradiction
from longdoc.checkpoints.classifiers import holds_classifier, load_classifier
from longdoc.checkpoints.family import Family
from longdoc.checkpoints.keymap import assign
from longdoc.checkpoints.opening import (
    FAMILIES,
    OWN,
    OWN_ENCODER,
    OWN_MARK,
    Checkpoint,
    check_family,
    family_of,
    open_checkpoint,
    read_config,
)
from longdoc.checkpoints.resolve import DEFAULT, encoder_alone
from longdoc.checkpoints.settings import ModelSettings, describe_settings, read_settings
from longdoc.checkpoints.stored_heads import head_keys, spelled, stored_head, stored_readout
from longdoc.checkpoints.taggers import holds_tagger, load_span_finder
from longdoc.checkpoints.vocabulary import read_tokenizer
from longdoc.checkpoints.weights import tensor_names
from longdoc.errors import CannotWriteError, CheckpointError, UsageError
from longdoc.files import write_folder
from longdoc.linear import LINEAR_FILE, LinearClassifier
from longdoc.model import LongDocModel
from longdoc.nn import Encoder
from longdoc.nn.shapes import shapes_only
from longdoc.tasks import task_named
from longdoc.text.tokenizer_files import VOCABULARIES
from longdoc.text.tokenizing import DocumentTokenizer

__all__ = [
    "LAST_FILES",
    "SUPERSEDED_FILES",
    "ModelSettings",
    "encoder_files",
    "family_of_encoder",
    "fill_folder",
    "holds_foreign_model",
    "load_model",
    "model_fingerprint",
    "refuse_other_model",
    "save_encoder",
    "save_model",
]

LAST_FILES = ("config.json", "longdoc.json")
"""Without these a folder is no model: they are written last."""

_DECIDING = (
    "config.json",
    LINEAR_FILE,
    "longdoc.json",
    "model.safetensors",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
)

SUPERSEDED_FILES = (
    LINEAR_FILE,
    *("model-*.safetensors", "model.safetensors.index.json"),
    *("added_tokens.json", *VOCABULARIES),
    *("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"),
)
"""What decides or describes predictions and not every model has: of an earlier model in the folder nothing stays."""


_FOREIGN: tuple[tuple[Callable[[Path], bool], Callable[[Path], tuple[LongDocModel, ModelSettings]]], ...] = (
    (holds_classifier, load_classifier),
    (holds_tagger, load_span_finder),
    (holds_answerer, load_question_answerer),
)
"""What transformers saves and a pipeline can answer with: whether a folder holds it, and how it is opened."""


def holds_foreign_model(folder: Path) -> bool:
    """Whether a folder is a model of transformers that answers, as far as its `config.json` says."""
    return any(is_such(folder) for is_such, _ in _FOREIGN)


def save_model(
    folder: Path,
    model: LongDocModel,
    settings: ModelSettings,
    tokenizer: DocumentTokenizer,
    card: str = "",
    linear: LinearClassifier | None = None,
) -> None:
    """Write a model folder, whole or not at all.

    Args:
        folder: the target. Where it exists, its other files stay.
        model, settings, tokenizer: what belongs together.
        card: the text of `README.md`.
        linear: the classifier over words that `settings.linear` describes.

    Raises:
        CannotWriteError: no space, no permission, or a failing disk.
        CheckpointError: the encoder cannot be described by files: a position encoding of your own, or a family that
            does not fit.
    """
    encoder, readout = model.encoder, model.readout
    family, problem_type = family_of_encoder(encoder), task_named(settings.task).problem_type
    config, tensors = encoder_files(encoder, family)
    head = stored_head(family, settings, config)
    tensors |= {spelled(head, name): tensor for name, tensor in readout.state_dict().items()}
    if head is not None:
        config |= {"architectures": [head.architecture], **head.said}
    names = settings.labels if head is None else head.names
    config[OWN_MARK] = True
    config["id2label"] = {str(number): name for number, name in enumerate(names)}
    config["label2id"] = {name: number for number, name in enumerate(names)}
    if problem_type is not None:
        config["problem_type"] = problem_type

    def fill(temporary: Path) -> None:
        fill_folder(temporary, config, tensors, tokenizer)
        (temporary / "longdoc.json").write_text(_json(describe_settings(settings)), encoding="utf-8")
        (temporary / "README.md").write_text(card, encoding="utf-8")
        if linear is not None:
            (temporary / LINEAR_FILE).write_bytes(linear.to_bytes())

    write_folder(folder, fill, LAST_FILES, SUPERSEDED_FILES)


def refuse_other_model(folder: Path) -> None:
    """Refuse a folder in which something is that a saved model would replace.

    Raises:
        UsageError: it holds a model or an encoder.
    """
    if held := [name for name in (*LAST_FILES, "model.safetensors") if (folder / name).exists()]:
        raise UsageError(
            f"`output` must be a new folder, but {folder} holds a model already ({held[0]}). Name another or remove it."
        )


def save_encoder(folder: Path, encoder: Encoder, tokenizer: DocumentTokenizer) -> None:
    """Write an encoder with its tokenizer, whole or not at all: what `load_encoder` and transformers open.

    Raises: as `save_model`.
    """
    config, tensors = encoder_files(encoder, family_of_encoder(encoder))
    write_folder(
        folder, lambda temporary: fill_folder(temporary, config, tensors, tokenizer), LAST_FILES, SUPERSEDED_FILES
    )


def load_model(folder: Path) -> tuple[LongDocModel, ModelSettings, DocumentTokenizer]:
    """Open a model folder, or a model of transformers for classification or question answering, in evaluation mode.

    Raises:
        CheckpointError: no such folder, not a model folder, or files that do not fit together.
    """
    folder = Path(folder)
    if not folder.exists():
        if str(folder) == DEFAULT:
            raise encoder_alone()
        raise CheckpointError(f"`{folder}` must be a model folder, but there is no such folder. Check the path.")
    if not (folder / "longdoc.json").is_file():
        for is_such, load in _FOREIGN:
            if is_such(folder):
                model, settings = load(folder)
                return model, settings, read_tokenizer(folder, model.encoder.config)
        raise _no_model(folder)
    settings = read_settings(folder)
    checkpoint = open_checkpoint(folder, head=lambda family: head_keys(family, settings))
    tensors, head = stored_readout(checkpoint, settings)
    _check_labels(folder, checkpoint, settings.labels if head is None else head.names)
    with shapes_only():
        readout = settings.readout.build(checkpoint.encoder.config.width, settings.scores)
    wanted = readout.state_dict()
    own = {name: tensor for name, tensor in tensors.items() if name in wanted or name in checkpoint.readout}
    assign(readout, own, str(folder), spell=lambda name: spelled(head, name))
    tokenizer = read_tokenizer(folder, checkpoint.encoder.config)
    return LongDocModel(checkpoint.encoder, readout).eval(), settings, tokenizer


def model_fingerprint(folder: Path) -> str:
    """sha256 over the names and bytes of the files that decide predictions; not the card, not metrics."""
    folder = Path(folder)
    digest = hashlib.sha256()
    shards = () if (folder / "model.safetensors").is_file() else sorted(p.name for p in folder.glob("*.safetensors"))
    for name in (*_DECIDING, *shards):
        path = folder / name
        if path.is_file():
            digest.update(f"{name}\0{path.stat().st_size}\0".encode())
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()


def family_of_encoder(encoder: Encoder) -> Family | None:
    """The family in whose layout an encoder is saved; None = ours.

    Raises:
        CheckpointError: it names a family that is not known.
    """
    name = encoder.config.family
    if name is None:
        return None
    if name not in FAMILIES:
        raise CheckpointError(f"`family` must be one of {', '.join(FAMILIES)} or null, but is {name!r} instead.")
    return FAMILIES[name]


def encoder_files(encoder: Encoder, family: Family | None) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """`config.json` and the tensors of an encoder, by the names of its family or ours.

    Raises:
        CheckpointError: it cannot be described by files.
    """
    with shapes_only():
        described = Encoder(encoder.config)
    if type(described.position) is not type(encoder.position):
        raise CheckpointError(
            f"`position` of an encoder must be the kind that its configuration names ({encoder.config.position.kind}) "
            f"for it to be saved, but is {type(encoder.position).__name__} instead. An encoding of your own cannot be "
            "described in a file."
        )
    state = encoder.state_dict()
    if family is None:
        config = {
            "model_type": OWN,
            "architectures": ["LongDocModel"],
            "hidden_size": encoder.config.width,
            "num_hidden_layers": encoder.config.layers,
            "num_attention_heads": encoder.config.heads,
            "vocab_size": encoder.config.vocab_size,
            "pad_token_id": encoder.config.pad_id,
            "longdoc_encoder": encoder.config.model_dump(mode="json"),
        }
        return config, {OWN_ENCODER + name: tensor for name, tensor in state.items()}
    config = family.describe(encoder.config) | {"architectures": [family.base_class]}
    tensors = dict(encoder.carried)
    for fusion in family.fusions:
        joined, used = fusion.join(state, encoder.config.heads)
        tensors |= joined
        state = {name: tensor for name, tensor in state.items() if name not in used}
    for name, tensor in state.items():
        theirs = family.keys.to_theirs(name)
        if theirs is None:
            raise CheckpointError(f"the tensor {name} of the encoder has no name in the family `{family.model_type}`.")
        tensors[theirs] = tensor
    return config, tensors


def fill_folder(folder: Path, config: dict[str, Any], tensors: dict[str, Tensor], tokenizer: DocumentTokenizer) -> None:
    """Weights, `config.json` and the tokenizer's files into a folder that is there already.

    Raises:
        CannotWriteError: the disk is full.
    """
    stored = {name: tensor.detach().cpu().contiguous() for name, tensor in sorted(tensors.items())}
    try:
        save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
    except SafetensorError:  # the library's own error for a disk that is full
        raise CannotWriteError(
            f"the weights cannot be written into {folder.parent}. Make room or choose another output."
        ) from None
    (folder / "model.safetensors").chmod(0o644)
    (folder / "config.json").write_text(_json(config), encoding="utf-8")
    tokenizer.save(folder)


def _no_model(folder: Path) -> CheckpointError:
    """The error for a folder that holds no model: what it holds instead, and the way on from there."""
    if not (folder / "config.json").is_file():
        return CheckpointError(
            f"`{folder}` must be a model folder, but holds neither `longdoc.json` nor `config.json`. Name the folder "
            "that `longdoc train` wrote, or a checkpoint that transformers saved."
        )
    config = read_config(folder)
    if OWN_MARK in config:
        return CheckpointError(
            f"`{folder}` must be a model folder, but lacks its `longdoc.json`: it was written or copied in part. Train "
            "or copy it again."
        )
    check_family(folder, config)
    family = family_of(config)
    with contextlib.suppress(CheckpointError):  # damaged weights say so themselves where they are wanted
        names = tensor_names(folder)
        if family and (said := contradiction(folder, config, family, tuple(FAMILIES.values()), names)):
            return CheckpointError(said)
    return CheckpointError(
        f"`{folder}` must be a model that answers, but `architectures` in its `config.json` names "
        f"{_named(config)}: an encoder without a head that does. Train one on it first: `longdoc train --set "
        f"model.source={folder} --data ... --output ...`."
    )


def _named(config: dict[str, Any]) -> str:
    named = config.get("architectures")
    return ", ".join(map(str, named)) if isinstance(named, list) and named else "none"


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _check_labels(folder: Path, checkpoint: Checkpoint, expected: tuple[str, ...]) -> None:
    names = checkpoint.config.get("id2label")
    if isinstance(names, dict) and names != {str(number): name for number, name in enumerate(expected)}:
        raise CheckpointError(
            f"`labels` in `{folder / 'longdoc.json'}` and `id2label` in `config.json` must name the same labels in the "
            "same order, but do not. One of the files was changed; change the other too."
        )
