"""A model whose layers lie on the disk gives the same bits; what it cannot do is refused."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from longdoc.api import train_with_report
from longdoc.config import load_config
from longdoc.errors import ConfigurationError, UsageError
from longdoc.pipeline import Pipeline, PredictionConfig
from longdoc.spreading import DeviceMapConfig, is_spread, places_of_layers, spread
from nn_kit import tiny_model
from training_kit import CONFIG, documents

CPU = {"precision": {"device": "cpu", "dtype": "fp32"}}


def prediction(folder: Path, device_gb: float) -> PredictionConfig:
    return PredictionConfig.model_validate(CPU | {"device_map": {"device_gb": device_gb, "folder": str(folder)}})


@pytest.fixture(scope="module")
def model(minilm_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three layers of 34 kB each."""
    from longdoc.api import build_pipeline

    config = load_config(CONFIG, ["model.encoder.layers=3", "prediction.precision.device=cpu"])
    folder = tmp_path_factory.mktemp("spread") / "model"
    build_pipeline(config, ("a", "b")).save(folder)
    return folder


@pytest.mark.parametrize("on_disk", [pytest.param(3, marks=pytest.mark.slow), 2])
def test_layers_on_the_disk_give_the_same_bits(model: Path, tmp_path: Path, on_disk: int) -> None:
    whole = Pipeline.load(model, PredictionConfig.model_validate(CPU))
    size = sum(4 * p.numel() for p in whole.model.encoder.layers[0].parameters())
    elsewhere = Pipeline.load(model, prediction(tmp_path / "layers", 1.1e-9 * size * (3 - on_disk)))
    layers = elsewhere.model.encoder.layers
    assert [all(p.is_meta for p in layer.parameters()) for layer in layers] == [False] * (3 - on_disk) + [
        True
    ] * on_disk
    (folder,) = (tmp_path / "layers").iterdir()
    assert len(list(folder.glob("*.dat"))) == on_disk * len(list(layers[0].parameters()))
    given = documents(7)
    expected = whole.predict(given)
    assert [r.logits for r in elsewhere.predict(given)] == [r.logits for r in expected]
    assert elsewhere.predict(given) == expected, "the second time too"
    explained = zip(elsewhere.stream_with_evidence(given), whole.stream_with_evidence(given), strict=True)
    assert all(one == other for one, other in explained)
    assert elsewhere.fingerprint == whole.fingerprint
    with pytest.raises(UsageError) as caught:
        elsewhere.save(tmp_path / "copy")
    assert str(caught.value) == (
        "a model of which layers lie elsewhere (`prediction.device_map`) can only predict. Load it without, to save it."
    )
    assert not (tmp_path / "copy").exists()
    del elsewhere, layers, explained, caught
    gc.collect()
    assert list((tmp_path / "layers").iterdir()) == []


def test_batches_in_several_threads_do_not_take_layers_away_from_each_other(model: Path, tmp_path: Path) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        whole = Pipeline.load(model, PredictionConfig.model_validate(CPU))
        elsewhere = Pipeline.load(model, prediction(tmp_path / "layers", 0.0))
        assert (whole.placement.lanes, elsewhere.placement.lanes) == (4, 1)
        given = [f"document {number} " + "with words " * (3 + number * 5) for number in range(24)]
        expected = [result.logits for result in whole.predict(given)]
        assert [result.logits for result in elsewhere.predict(given)] == expected
        elsewhere.placement = whole.placement  # as many batches at once as anybody may ask for
        assert [result.logits for result in elsewhere.predict(given)] == expected
        with ThreadPoolExecutor(4) as callers:  # an app that asks from several threads
            answers = [callers.submit(elsewhere.predict, given) for _ in range(4)]
            assert all([result.logits for result in answer.result()] == expected for answer in answers)
    finally:
        torch.set_num_threads(before)


def test_a_batch_that_fails_lets_the_next_one_have_its_turn(model: Path, tmp_path: Path) -> None:
    pipeline = Pipeline.load(model, prediction(tmp_path / "layers", 0.0))  # its files go when it goes
    encoder = pipeline.model.encoder
    with torch.inference_mode():
        for _ in range(2):
            with pytest.raises(UsageError):
                encoder(torch.tensor([[10**6]]))
        assert encoder(torch.tensor([[1, 2]])).isfinite().all()


def test_vectors_are_refused_in_words(model: Path, tmp_path: Path) -> None:
    pipeline = Pipeline.load(model, prediction(tmp_path / "layers", 0.0))
    with pytest.raises(UsageError, match=r"^a model of which layers lie elsewhere .* Load it without, to embed\.$"):
        pipeline.embed(["some text"])


def test_where_all_fits_nothing_is_moved(model: Path, tmp_path: Path) -> None:
    pipeline = Pipeline.load(model, PredictionConfig.model_validate(CPU | {"device_map": {}}))
    assert not is_spread(pipeline.model)
    pipeline.save(tmp_path / "copy")


def test_the_first_layers_come_first_and_places_are_not_gone_back_to() -> None:
    cpu, gpu = torch.device("cpu"), torch.device("cuda", 0)
    settings = DeviceMapConfig(device_gb=2.5, memory_gb=1.5)
    gb = 10**9
    assert places_of_layers([gb] * 5, gpu, settings) == [gpu, gpu, "cpu", "disk", "disk"]
    assert places_of_layers([gb] * 4, cpu, settings) == [cpu, cpu, "disk", "disk"]
    assert places_of_layers([gb, 2 * gb, gb // 2], cpu, settings) == [cpu, "disk", "disk"]


def test_an_encoder_without_layers_is_refused() -> None:
    model = tiny_model()
    model.encoder = torch.nn.Linear(2, 2)  # type: ignore[assignment]
    with pytest.raises(ConfigurationError) as caught:
        spread(model, torch.device("cpu"), DeviceMapConfig())
    assert str(caught.value) == (
        "`prediction.device_map` needs an encoder whose `layers` are a list of modules, but this one has none. Set it "
        "to null."
    )


@pytest.mark.usefixtures("minilm_folder")
def test_nothing_is_trained_that_lies_elsewhere(tmp_path: Path) -> None:
    config = load_config(CONFIG, ["prediction.device_map={device_gb: 0}"])
    with pytest.raises(ConfigurationError) as caught:
        train_with_report(config, tmp_path / "run", documents(4))
    assert str(caught.value) == (
        "`prediction.device_map` must be null while training, which needs all weights on the device. Leave it out, and "
        "lower `training.micro_batch_tokens` or freeze layers if memory is short."
    )
    assert not (tmp_path / "run").exists()
