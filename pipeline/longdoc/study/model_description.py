"""What a model folder is, in words and numbers: for `longdoc inspect model`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from longdoc.checkpoints import open_checkpoint
from longdoc.checkpoints.classifiers import holds_classifier
from longdoc.checkpoints.native import load_model, model_fingerprint
from longdoc.checkpoints.vocabulary import read_tokenizer
from longdoc.nn import Encoder
from longdoc.precision import choose_placement, compute_path
from longdoc.text.batching import BatchingConfig

__all__ = ["describe_model", "model_table"]


def describe_model(folder: Path) -> dict[str, Any]:
    """A model folder, or the folder of an encoder alone, as plain values. Everything is loaded, so that it is known to
    fit together.

    Returns:
        `kind` ("model" or "encoder"), `encoder`, `parameters`, `fingerprint` (of the files that decide predictions),
        `path` (how this machine computes predictions where nothing is configured, and why so); of a model also `task`,
        `labels`, `source`, `chunking`, `readout`, `decisions`.

    Raises:
        CheckpointError: not such a folder, or a damaged one.
    """
    if not (folder / "longdoc.json").is_file() and not holds_classifier(folder):
        encoder = open_checkpoint(folder).encoder
        if (folder / "tokenizer.json").is_file():
            read_tokenizer(folder, encoder.config)  # so that it is known to fit too
        return {
            "kind": "encoder",
            "encoder": _encoder(encoder),
            "parameters": {"encoder": _weights(encoder)},
            "path": _path(encoder),
            "fingerprint": model_fingerprint(folder),
        }
    model, settings, tokenizer = load_model(folder)
    return {
        "kind": "model",
        "task": settings.task,
        "labels": list(settings.labels),
        "source": settings.source,
        "encoder": _encoder(model.encoder) | {"special_tokens": tokenizer.specials},
        "chunking": settings.chunking.model_dump(mode="json"),
        "readout": settings.readout.model_dump(mode="json"),
        "decisions": settings.decisions.model_dump(mode="json"),
        "parameters": {"encoder": _weights(model.encoder), "readout": _weights(model.readout)},
        "path": _path(model.encoder),
        "fingerprint": model_fingerprint(folder),
    }


def model_table(description: Mapping[str, Any]) -> str:
    """The same for people, a line each."""
    encoder, parameters = description["encoder"], description["parameters"]
    lines: list[tuple[str, str]] = []
    if description["kind"] == "model":
        labels = description["labels"]
        lines += [
            ("task", description["task"].replace("_", " ")),
            ("labels", f"{len(labels)}: {', '.join(labels[:12])}{' ...' if len(labels) > 12 else ''}"),
        ]
    lines += [
        (
            "encoder",
            f"{encoder['family'] or 'of its own kind'}, {encoder['layers']} x {encoder['width']}, {encoder['heads']} "
            f"heads, {encoder['vocab_size']:,} words",
        ),
        ("positions", f"{encoder['positions']}, {_reach(encoder['max_tokens'])}{_settings(encoder['position'])}"),
        ("attention", _attention(encoder["attention"])),
    ]
    if description["kind"] == "model":
        chunking, readout, decisions = description["chunking"], description["readout"], description["decisions"]
        lines += [
            ("started from", description["source"] or "scratch"),
            (
                "chunks",
                f"{chunking['size']} tokens, {encoder['special_tokens']} of them special, {chunking['overlap']} "
                f"shared; read: {chunking['keep']}",
            ),
            ("readout", ", ".join(f"{key} {_word(value)}" for key, value in readout.items())),
            ("decisions", _decisions(decisions)),
        ]
    path = description["path"]
    lines += [
        ("runs on", f"{path['device']} in {path['dtype']}, since {path['reason']}; batches at once: {path['lanes']}"),
        ("batches", f"{path['batches']}; repeated chunks are {path['repeats']}"),
        ("kernel", path["attention"]),
        ("products", path["products"]),
        ("training", f"attention with dropout by {path['training']}"),
        ("weights", ", ".join(f"{name} {count:,}" for name, count in parameters.items())),
        ("fingerprint", description["fingerprint"]),
    ]
    return "\n".join(f"{name:<13} {value}" for name, value in lines)


def _encoder(encoder: Encoder) -> dict[str, Any]:
    config = encoder.config
    return {
        "family": config.family,
        "layers": config.layers,
        "width": config.width,
        "heads": config.heads,
        "vocab_size": config.vocab_size,
        "positions": config.position.kind,
        "position": config.position.model_dump(mode="json", exclude_defaults=True) | {"kind": config.position.kind},
        "attention": config.model_dump(mode="json", include={"causal", "window", "global_tokens", "masks"}),
        "max_tokens": encoder.max_tokens,
    }


def _path(encoder: Encoder) -> dict[str, Any]:
    return asdict(compute_path(choose_placement(), BatchingConfig(), encoder))


def _weights(module: Any) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def _reach(limit: int | None) -> str:
    return "chunks of any size" if limit is None else f"chunks of at most {limit} tokens"


def _settings(position: Mapping[str, Any]) -> str:
    """What of a position encoding is not at its default."""
    return "".join(f", {key} {value}" for key, value in position.items() if key != "kind")


def _attention(rules: Mapping[str, Any]) -> str:
    """Which keys a token may attend to, beside those of padding."""
    said = [f"{key.replace('_', ' ')} {value}" for key, value in rules.items() if value not in (None, False, 0, [], ())]
    return ", ".join(said) or "every token to every other"


def _word(value: Any) -> str:
    return str(value["kind"]) if isinstance(value, Mapping) and "kind" in value else str(value)


def _decisions(decisions: Mapping[str, Any]) -> str:
    if not decisions["documents"]:
        return "nothing was fitted: probabilities as they are, thresholds 0.5, always an answer"
    parts = [f"temperature {decisions['temperature']:.3g}"]
    if decisions["thresholds"] is not None:
        parts.append("a threshold for each label")
    if decisions["conformal"] is not None:
        parts.append(f"abstains to cover {decisions['conformal']['coverage']:.0%}")
    return f"{', '.join(parts)}; fitted on {decisions['documents']} validation documents"
