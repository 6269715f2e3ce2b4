"""What evidence claims and what happens when a passage is taken away, for every readout with every merger.

The encoder is a table of words: a state knows nothing of its neighbours, and the head hears one word only. So it is
known what carries the score, and a new merger is covered by being in the union.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import longdoc.evidence
from longdoc.api import build_pipeline
from longdoc.config import load_config
from longdoc.evidence import ChunkEvidence, chunk_evidence
from longdoc.occlusion import occlusion_of
from longdoc.pipeline import Pipeline
from longdoc.text.chunking import prepare_many
from longdoc.types import Document, EvidencePassage
from nn_kit import batch_of
from readout_kit import EVERY, every_readout, name_of, pipeline_with

QUIET = "court party notice term state right work copy".split()
NEEDLE = "blue"
LENGTH, PLACE = 240, 107
LOUD = 160.0
LOOSE = {
    "vectors-max",  # the largest of each component: the head no longer hears one word when they come from many chunks
    "vectors-hierarchical",  # its layers, random here, turn silence into something
}
"""Where no claim need hold, even here."""
STRICT = [config for config in EVERY if name_of(config) not in LOOSE]
assert len(STRICT) == len(EVERY) - len(LOOSE)
every_strict = pytest.mark.parametrize("config", STRICT, ids=[name_of(config) for config in STRICT])
CONFIG = Path(__file__).parents[2] / "configs" / "debug_tiny.yaml"


def text(*needles: int) -> Document:
    """Words of no interest, in sentences, with the one that is heard in these places."""
    words = [QUIET[place % len(QUIET)] for place in range(LENGTH)]
    for place in needles:
        words[place] = NEEDLE
    sentences = [" ".join(words[at : at + 20]).capitalize() for at in range(0, LENGTH, 20)]
    return Document(id="a", text=". ".join(sentences) + ".")


@pytest.fixture(scope="module")
def words_only(minilm_folder: Path) -> Pipeline:
    """A tiny pipeline whose encoder is a table of words."""
    settings = ["model.encoder.position={kind: none}", "prediction.precision={device: cpu, dtype: fp32}"]
    pipeline = build_pipeline(load_config(CONFIG, settings), ("contract", "letter"))
    with torch.no_grad():
        for name, parameter in pipeline.model.encoder.named_parameters():
            if name.startswith("layers") and "norm" not in name:
                parameter.zero_()
    return pipeline


def hearing(words_only: Pipeline, config: dict[str, Any]) -> Pipeline:
    """A pipeline whose scores rise with the one word and with nothing else."""
    pipeline = pipeline_with(words_only, config, task="multi_label")
    words = [*QUIET, ".", NEEDLE]
    ids = [int(pipeline.tokenizer.tokenize(Document(id=word, text=word)).token_ids[0]) for word in words]
    readout: Any = pipeline.model.readout
    output = readout.output if readout.head is None else readout.head.output
    with torch.no_grad():
        states = pipeline.model.encoder(torch.tensor([ids]))[0].double()
        wanted = torch.tensor([[0.0]] * (len(ids) - 1) + [[LOUD]], dtype=torch.float64)
        output.weight.copy_((torch.linalg.pinv(states) @ wanted)[:, 0].expand_as(output.weight))
        output.bias.fill_(-3.0)
    return pipeline


def strongest(pipeline: Pipeline, document: Document) -> EvidencePassage:
    """The passage of the best label that was taken away."""
    explained = pipeline.explain(document)
    (checked, *_) = (passage for passage in explained.evidence or () if passage.occlusion is not None)
    return checked


@every_strict
def test_what_is_heard_in_one_sentence_only_moves_the_score_as_claimed(
    words_only: Pipeline, config: dict[str, Any]
) -> None:
    pipeline, document = hearing(words_only, config), text(PLACE)
    checked = strongest(pipeline, document)
    claimed, measured, held = checked.occlusion
    assert NEEDLE in document.text[checked.start : checked.end]
    assert claimed > 0.2
    assert measured == pytest.approx(claimed, abs=1e-3)
    assert held


@every_strict
def test_claims_that_are_made_wrong_do_not_hold(
    words_only: Pipeline, config: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def louder(*arguments: Any) -> ChunkEvidence:
        """Weights still add up to the score: what is too much is spread over all passages again."""
        found = chunk_evidence(*arguments)
        return replace(found, slopes=1.5 * found.slopes, parts=1.5 * found.parts)

    monkeypatch.setattr(longdoc.evidence, "chunk_evidence", louder)
    pipeline = hearing(words_only, config)
    result = pipeline.explain(text(PLACE))
    (first, *_) = result.evidence
    total = sum(passage.weight for passage in result.evidence if passage.label == first.label)
    assert total == pytest.approx(result.logits[pipeline.labels.index(first.label)], abs=1e-4)
    checks = [passage.occlusion for passage in result.evidence if passage.occlusion is not None]
    assert checks
    assert not any(check.held for check in checks)


@pytest.mark.parametrize(("merger", "held"), [("mean", True), ("max", False), ("logsumexp", False), ("noisy_or", True)])
def test_what_is_said_in_two_places_is_missed_where_both_count(words_only: Pipeline, merger: str, held: bool) -> None:
    pipeline = hearing(words_only, {"kind": "logits", "merger": {"kind": merger}})
    check = strongest(pipeline, text(PLACE, PLACE + 88)).occlusion
    assert check.held is held
    assert held or -0.2 < check.measured < 0.5 * check.claimed


@pytest.mark.parametrize("kind", ["vectors", "logits"])
def test_where_chunks_cannot_be_divided_a_chunk_is_taken_away(words_only: Pipeline, kind: str) -> None:
    pipeline = hearing(words_only, {"kind": kind, "pooling": "cls", "merger": {"kind": "mean"}})
    document = text(PLACE)
    checked = strongest(pipeline, document)
    chunks = prepare_many([document], pipeline.tokenizer, pipeline.chunker)[0].chunks
    offsets = pipeline.tokenizer.tokenize(document).offsets
    assert (checked.start, checked.end) in [
        (int(offsets[c.core.start, 0]), int(offsets[c.core.end - 1, 1])) for c in chunks
    ]
    assert checked.occlusion.measured == pytest.approx(checked.occlusion.claimed, abs=1e-4)


@every_readout
def test_what_is_measured_is_what_reading_without_the_passage_gives(
    tiny_pipeline: Pipeline, config: dict[str, Any]
) -> None:
    """Chunk by chunk, by hand, with an encoder whose states know their neighbours."""
    pipeline, document = pipeline_with(tiny_pipeline, config, task="single_label"), text(PLACE)
    checked = strongest(pipeline, document)
    model, (prepared,) = pipeline.model, prepare_many([document], pipeline.tokenizer, pipeline.chunker)
    offsets = pipeline.tokenizer.tokenize(document).offsets
    scores = []
    for away in ((0, 0), (checked.start, checked.end)):
        rows = []
        for chunk in prepared.chunks:
            seen = torch.ones(1, len(chunk), dtype=torch.bool)
            core = torch.zeros(1, len(chunk), dtype=torch.bool)
            for token in range(chunk.span.start, chunk.span.end):
                place = chunk.lead + token - chunk.span.start
                seen[0, place] = not away[0] <= offsets[token, 0] < away[1]
                core[0, place] = chunk.core.start <= token < chunk.core.end
            ids, places = torch.tensor(chunk.token_ids[None].astype("int64")), torch.arange(len(chunk))[None]
            with torch.no_grad():
                states = model.encoder(ids, seen, places) * seen[..., None]
                batch = batch_of(ids, core=core, owner=[0], ordinals=[chunk.ordinal])
                rows.append(model.readout.rows(states, batch))
        weights = torch.tensor([float(chunk.core.end - chunk.core.start) for chunk in prepared.chunks])
        with torch.no_grad():
            merged = model.readout.documents(torch.cat(rows), torch.zeros(len(rows), dtype=torch.int64), weights, 1)
        scores.append(float(merged[0, pipeline.labels.index(checked.label)]))
    assert scores[0] - scores[1] == pytest.approx(checked.occlusion.measured, abs=2e-4)
    assert abs(checked.occlusion.measured) > 1e-3


def test_one_passage_of_each_score_is_checked_and_rows_say_so(tiny_pipeline: Pipeline) -> None:
    pipeline = pipeline_with(tiny_pipeline, {"kind": "logits"}, task="single_label")
    result = pipeline.explain(text(PLACE))
    (checked,) = (passage for passage in result.evidence if passage.occlusion is not None)
    rows = result.to_dict()["evidence"]
    assert [row["occlusion"] for row in rows if "occlusion" in row] == [checked.occlusion._asdict()]
    (unchecked,) = pipeline.stream_with_evidence([text(PLACE)])
    assert [passage._replace(occlusion=None) for passage in result.evidence] == list(unchecked.evidence)


@pytest.mark.parametrize(
    ("claimed", "measured", "held"),
    [
        (2.0, 2.5, True),
        (2.0, 2.51, False),
        (-2.0, -1.5, True),
        (-2.0, 2.0, False),
        (0.0, 0.0009, True),
        (0.0, 0.1, False),
    ],
)
def test_a_claim_holds_within_a_quarter_of_it(claimed: float, measured: float, held: bool) -> None:
    assert occlusion_of(claimed, measured) == (claimed, measured, held)
