"""A model folder on the Hugging Face hub: its own files and nothing else, whole, in one commit."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from longdoc.checkpoints.native import save_model
from longdoc.checkpoints.settings import ModelSettings
from longdoc.errors import CheckpointError, LongDocError, UsageError
from longdoc.hub import HUB_PREFIX, quiet_hub
from longdoc.linear import LinearClassifier
from longdoc.model import LongDocModel
from longdoc.text.tokenizing import DocumentTokenizer

__all__ = ["FILES", "publish_folder", "publish_model", "without_places"]

FILES = ("config.json", "longdoc.json", "model.safetensors", "tokenizer.json")
"""Without one of these a folder is no whole model."""
_REPLACED = ["*.safetensors", "*.safetensors.index.json", "*.json", "*.txt", "*.model", "README.md"]
"""Files of an earlier model that go where the new one has none of the name."""
_NAME = re.compile(r"(\w[\w.-]*/)?\w[\w.-]*")


def publish_model(
    model: LongDocModel,
    settings: ModelSettings,
    tokenizer: DocumentTokenizer,
    card: str,
    linear: LinearClassifier | None,
    name: str,
    **options: Any,
) -> str:
    """Save a model into a folder of its own and bring that to the hub, without any path of this machine.

    Args:
        card: its README.md.
        name, options: as of `publish_folder`; so are the errors.
    """
    source = without_places(settings.source)
    if source != settings.source:
        card = card.replace(settings.source, source)
        settings = settings.model_copy(update={"source": source})
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "model"
        save_model(folder, model, settings, tokenizer, card, linear)
        return publish_folder(folder, name, **options)


def publish_folder(
    folder: Path,
    name: str,
    *,
    private: bool = True,
    revision: str | None = None,
    message: str = "A longdoc model",
    overwrite: bool = False,
) -> str:
    """Bring a model folder to the hub; the repository is made if there is none.

    Args:
        folder: of a whole model.
        name: `owner/name`, with `hf:` before it or without.
        private: of a new repository; one that is there stays what it is.
        revision: a branch; None = the main one.
        message: of the commit.
        overwrite: replace a model that longdoc did not write.

    Returns:
        The address of the commit.

    Raises:
        UsageError: no such name, or another model is there and may not be replaced.
        CheckpointError: the folder holds no whole model.
        LongDocError: the hub cannot be reached, or does not let us.
    """
    from huggingface_hub import HfApi, constants

    name = name.removeprefix(HUB_PREFIX)
    if not _NAME.fullmatch(name):
        raise UsageError(f"`repo_id` must be a name such as owner/name, but is {name!r} instead.")
    if missing := [file for file in FILES if not (folder / file).is_file()]:
        raise CheckpointError(f"`{folder}` must be a whole model, but has no {missing[0]}. Save it again.")
    if constants.HF_HUB_OFFLINE:
        raise UsageError("HF_HUB_OFFLINE forbids the network, so nothing can be pushed. Unset it.")
    api = HfApi()
    with quiet_hub():
        try:
            name = api.create_repo(name, private=private, exist_ok=True).repo_id
            if revision is not None:
                api.create_branch(name, branch=revision, exist_ok=True)
            there = set(api.list_repo_files(name, revision=revision))
            strange = sorted(file for file in there if file.endswith((".safetensors", ".bin")))
            if strange and "longdoc.json" not in there and not overwrite:
                raise UsageError(
                    f"`{name}` holds a model that longdoc did not write ({strange[0]}). Name another repository, or "
                    "pass overwrite=True."
                )
            done = api.upload_folder(
                repo_id=name,
                folder_path=folder,
                commit_message=message,
                revision=revision,
                delete_patterns=_REPLACED,
            )
        except LongDocError:
            raise
        except Exception as error:
            fault = type(error).__name__
        else:
            return str(done.commit_url)
    raise LongDocError(
        f"`{name}` could not be pushed to the hub: {fault}. Check the network and the name; if both are right, log in "
        "with `hf auth login` or set HF_TOKEN. Nothing of it is half there: a push is one commit."
    )


def without_places(source: str) -> str:
    """What a model started from, as others may know it: of a folder on this machine the last part of its path."""
    looks_like_path = source.startswith(("/", ".", "~")) or "\\" in source or source.count("/") > 1
    return Path(source.replace("\\", "/")).name if looks_like_path or Path(source).exists() else source
