"""Rules of the house that a machine can see: what the code must never do, and what every file must have."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "pipeline" / "longdoc"
MODULES = sorted(PACKAGE.rglob("*.py"))

RUNS_FOREIGN_CODE = {
    *("torch.load", "joblib.load", "yaml.load", "yaml.unsafe_load", "yaml.full_load", "numpy.load", "os.system"),
    *("eval", "exec", "compile", "__import__"),
}
"""Calls that can run code from a file; `numpy.load` unpickles when asked to."""
SERIALISERS = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve"}
FOLDERS = ("pipeline", "tests", "scripts", "data", "docs", "configs", ".ci")


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def by_module(find: Callable[[ast.Module], list[str]]) -> dict[str, list[str]]:
    """What a check finds in the files of the package, files without a finding left out."""
    found = {relative(module): find(ast.parse(module.read_text("utf-8"))) for module in MODULES}
    return {place: faults for place, faults in found.items() if faults}


def foreign_code(tree: ast.Module) -> list[str]:
    """Where a file runs, or could be made to run, code that came with data."""
    aliases: dict[str, str] = {}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            aliases |= {alias.asname or alias.name.partition(".")[0]: alias.name for alias in node.names}
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            aliases |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            modules = [node.module or ""]
        else:
            continue
        found += [f"{node.lineno}: imports {name}" for name in modules if name.partition(".")[0] in SERIALISERS]
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        first, _, rest = ast.unparse(node.func).partition(".")
        name = ".".join(filter(None, [aliases.get(first, first), rest]))
        if name in RUNS_FOREIGN_CODE:
            found.append(f"{node.lineno}: calls {name}")
        for keyword in node.keywords:
            if keyword.arg == "trust_remote_code" and ast.unparse(keyword.value) != "False":
                found.append(f"{node.lineno}: trusts remote code")
            if keyword.arg in ("shell", "allow_pickle") and ast.unparse(keyword.value) != "False":
                found.append(f"{node.lineno}: passes {keyword.arg}")
    return found


def test_nothing_runs_code_that_came_with_data() -> None:
    assert by_module(foreign_code) == {}


def test_the_check_for_foreign_code_sees_through_aliases() -> None:
    source = "\n".join(
        [
            "import torch as t, pickle",
            "from yaml import load as read",
            "model.eval(); re.compile('a')",
            "t.load(path); read(text); eval(text)",
            "AutoModel.from_pretrained(path, trust_remote_code=flag)",
        ]
    )

    assert foreign_code(ast.parse(source)) == [
        "1: imports pickle",
        "4: calls torch.load",
        "4: calls yaml.load",
        "4: calls eval",
        "5: trusts remote code",
    ]


def test_only_commands_print() -> None:
    def prints(tree: ast.Module) -> list[str]:
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        return [f"{c.lineno}" for c in calls if ast.unparse(c.func) in ("print", "typer.echo", "sys.stdout.write")]

    assert [place for place in by_module(prints) if not place.startswith("cli/")] == []


def test_every_file_says_what_it_is_for() -> None:
    assert by_module(lambda tree: [] if ast.get_docstring(tree) else ["no docstring"]) == {}


def test_test_files_have_unique_names() -> None:
    """Folders of tests are no packages: of two files of one name pytest reads one and stumbles over the other."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_public_names_exist() -> None:
    def missing(tree: ast.Module) -> list[str]:
        names: set[str] = set()
        public: list[str] = []
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                names |= {alias.asname or alias.name for alias in node.names}
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                assigned = {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
                names |= assigned
                if "__all__" in assigned and node.value is not None:
                    public = ast.literal_eval(node.value)
        return [name for name in public if name not in names or public.count(name) > 1]

    assert by_module(missing) == {}


def test_no_module_is_called_pipeline(tmp_path: Path) -> None:
    """`pipeline/` is a source root. A package of that name would be shadowed by any user's own pipeline.py."""
    code = "import importlib.util as u; assert u.find_spec('pipeline') is None; assert u.find_spec('longdoc')"
    finished = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )

    assert finished.returncode == 0, finished.stderr
    written = [path for path in own_files() if path.suffix == ".py"]
    wrong = re.compile(r"^\s*(from|import) pipeline\b", re.MULTILINE)
    assert [path.relative_to(ROOT).as_posix() for path in written if wrong.search(path.read_text("utf-8"))] == []


def own_files() -> list[Path]:
    """The files of the project: what git knows or would add; in an unpacked archive, everything but built things."""
    git = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    if (ROOT / ".git").exists() and shutil.which("git"):
        listed = subprocess.run(git, capture_output=True, text=True, timeout=60, check=False)
        if listed.returncode == 0:
            return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]
    inside = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    built = {"__pycache__", "built", "longdoc.egg-info"}
    return [path for path in [*ROOT.iterdir(), *inside] if path.is_file() and not built & set(path.parts)]


def test_no_file_names_a_machine() -> None:
    """No path, host or index of a machine on which the project was made."""
    roots = "|".join(("work", "root", "farm", "tmp/brief"))
    private = re.compile(rf"(?<![\w.])/(?:{roots})/|py" + r"thonhosted|--(?:extra-)?index" + r"-url", re.IGNORECASE)
    found = []
    for path in own_files():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {match.group()}" for match in private.finditer(text)]

    assert found == []


def test_every_guarantee_names_tests_that_exist() -> None:
    rows = [line for line in (ROOT / "docs" / "guarantees.md").read_text("utf-8").splitlines() if line.startswith("| ")]
    named = {row: re.findall(r"`([^`]+\.py)`", row.rsplit("|", 2)[1]) for row in rows if "---" not in row}
    named.pop("| promise | tests |")

    assert [row for row, tests in named.items() if not tests] == []
    assert [test for tests in named.values() for test in tests if not (ROOT / "tests" / test).is_file()] == []


@pytest.mark.slow
def test_the_wheel_holds_everything_that_is_needed(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(ROOT / "pipeline", source / "pipeline", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    built = subprocess.run([*command, str(source)], capture_output=True, text=True, timeout=300, check=False)

    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("longdoc-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    expected = {path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {f"longdoc/{relative(path)}" for path in expected} <= names
    assert not any(name.startswith(("pipeline/", "tests/", "data/")) for name in names)
