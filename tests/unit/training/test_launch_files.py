"""The files for `accelerate launch` are read by Accelerate's own parser, and say what their heads say."""

from __future__ import annotations

from pathlib import Path

import pytest
from accelerate.commands.config.config_args import load_config_from_file
from accelerate.utils import ComputeEnvironment, DistributedType

FOLDER = Path(__file__).parents[3] / "configs" / "accelerate"
EXPECTED = {
    "cpu": (1, 1, True, "no", DistributedType.NO),
    "one_gpu": (1, 1, False, "bf16", DistributedType.NO),
    "two_cpu_processes": (2, 1, True, "no", DistributedType.MULTI_GPU),
    "eight_gpus": (8, 1, False, "bf16", DistributedType.MULTI_GPU),
    "two_hosts": (16, 2, False, "bf16", DistributedType.MULTI_GPU),
}


@pytest.mark.parametrize("path", sorted(FOLDER.iterdir()), ids=lambda path: path.name)
def test_accelerate_reads_it(path: Path) -> None:
    read = load_config_from_file(str(path))
    found = (read.num_processes, read.num_machines, read.use_cpu, read.mixed_precision, read.distributed_type)
    assert found == EXPECTED[path.stem]
    assert read.compute_environment == ComputeEnvironment.LOCAL_MACHINE
    head = path.read_text("utf-8").split("\ncompute_environment")[0]
    assert f"accelerate launch --config_file configs/accelerate/{path.name} " in head
    assert " -m longdoc " in head
