"""Modules without values."""

from __future__ import annotations

import subprocess
import sys

import torch

from longdoc.nn import Encoder, EncoderConfig
from longdoc.nn.position import SinusoidalConfig
from longdoc.nn.shapes import shapes_only

SMALL = {"vocab_size": 20, "width": 8, "layers": 1, "heads": 2, "feed_forward_width": 16, "max_len": 16}


def small() -> Encoder:
    return Encoder(EncoderConfig(**SMALL, position=SinusoidalConfig()))


def test_shapes_are_those_of_the_real_module_and_random_numbers_stay_where_they_were() -> None:
    torch.manual_seed(0)
    with shapes_only():
        built = small()
    drawn = torch.rand(3)
    torch.manual_seed(0)
    assert torch.equal(drawn, torch.rand(3))
    assert {parameter.device.type for parameter in built.parameters()} == {"meta"}
    wanted = {name: tensor.shape for name, tensor in small().state_dict().items()}
    assert {name: tensor.shape for name, tensor in built.state_dict().items()} == wanted
    assert torch.nn.Linear(2, 2).weight.device.type == "cpu"


def test_opening_a_model_imports_neither_a_compiler_nor_a_library_of_measures() -> None:
    code = (
        "import sys\n"
        "import longdoc.pipeline\n"
        "from longdoc.nn import Encoder, EncoderConfig\n"
        "from longdoc.nn.position import SinusoidalConfig\n"
        "from longdoc.nn.shapes import shapes_only\n"
        "with shapes_only():\n"
        f"    Encoder(EncoderConfig(**{SMALL!r}, position=SinusoidalConfig()))\n"
        "print([name for name in ('torch._dynamo', 'sklearn', 'pandas') if name in sys.modules])\n"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert finished.stdout == "[]\n", finished.stderr
