"""Which room may import which, and which library: the tables of the architecture, enforced."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "pipeline" / "longdoc"

MAY_IMPORT = {
    "accelerate": (
        "training/processes.py",
        "training/trackers.py",
        "training/pretraining.py",
        "jobs/engines/accelerate.py",
        "spreading.py",
    ),
    "datasets": ("readers/", "training/data.py"),
    "huggingface_hub": ("checkpoints/", "hub.py"),
    "jinja2": ("report/",),
    "peft": ("training/lora.py",),
    "ray": ("jobs/engines/ray",),
    "rich": ("cli/",),
    "sklearn": ("metrics/", "adapters/", "study/"),
    "tokenizers": ("text/tokenizing.py",),
    "transformers": ("checkpoints/",),
    "typer": ("cli/",),
}
"""Library -> files and folders of the package that may import it; other libraries may be imported anywhere."""

LIGHT = (
    *("types", "errors", "schema", "files", "version", "readers", "text.tokenizing", "text.chunking", "text.batching"),
    *("jobs.plan", "jobs.parts", "jobs.verify", "study.lengths", "report.html", "cli"),
)
"""Modules that plan, read, verify and report, and so must not wait for torch."""


def sources() -> dict[str, str]:
    """Path relative to the package -> source, of every module."""
    return {path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}


def imports(source: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Module and names of each import statement, also of those inside functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, tuple(alias.name for alias in node.names)


def strangers(place: str, source: str) -> list[str]:
    """Libraries that a file at `place` (relative to the package) imports and may not."""
    found = {module.partition(".")[0] for module, _ in imports(source)}
    return sorted(library for library in found & MAY_IMPORT.keys() if not place.startswith(MAY_IMPORT[library]))


def test_imports_point_down_only() -> None:
    """Every module stands on a floor, and import-linter finds no import that points up or across."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    finished = subprocess.run(
        [*command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )

    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "0 broken" in finished.stdout


def test_each_library_has_its_rooms() -> None:
    found = {place: strangers(place, source) for place, source in sources().items()}

    assert {place: libraries for place, libraries in found.items() if libraries} == {}


def test_the_check_of_libraries_sees_every_way_to_import() -> None:
    source = "import ray.data\ndef f():\n    from sklearn.metrics import f1_score\n    import numpy"

    assert strangers("text/chunking.py", source) == ["ray", "sklearn"]
    assert strangers("study/compare.py", source) == ["ray"]


def test_no_room_imports_the_front_door() -> None:
    """The root package gathers names for users; a room that imported one from there would hide where it comes from."""
    rooms = {path.stem for path in PACKAGE.iterdir()}
    found = {
        place: [name for module, names in imports(source) if module == "longdoc" for name in names or ("longdoc",)]
        for place, source in sources().items()
    }

    assert {place: names for place, names in found.items() if not rooms.issuperset(names)} == {}


def test_planning_reading_and_reporting_do_without_torch() -> None:
    present = [name for name in LIGHT if (PACKAGE / name.replace(".", "/")).with_suffix(".py").exists()]
    present += [name for name in LIGHT if (PACKAGE / name.replace(".", "/") / "__init__.py").exists()]
    code = (
        "import importlib, sys\n"
        f"for name in {present!r}:\n"
        "    importlib.import_module('longdoc.' + name)\n"
        "    assert 'torch' not in sys.modules, name\n"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)

    assert finished.returncode == 0, finished.stderr
