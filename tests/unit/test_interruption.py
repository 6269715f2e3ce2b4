"""A signal while a command is starting up: one line and the status of the contract, whatever is being imported."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

STARTING = """
import os, signal
from longdoc.interruption import starting_up
with starting_up():
    try:
        os.kill(os.getpid(), {number})
    except BaseException:
        pass
    print("went on")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_can_swallow_a_signal_while_a_command_starts(number: signal.Signals) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STARTING.format(number=int(number))], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (75, "")
    assert done.stderr == "longdoc: stopped. Run the same command again.\n"


def test_a_signal_that_is_ignored_stays_so() -> None:
    code = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN){STARTING.format(number=int(signal.SIGINT))}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "went on\n", "")


def test_in_the_middle_of_an_import_no_exception_is_raised(tmp_path: Path) -> None:
    (tmp_path / "library.py").write_text(
        "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\nexcept BaseException:\n    pass\n"
    )
    code = f"""
import sys
from longdoc.interruption import raising
sys.path.insert(0, {str(tmp_path)!r})
with raising(lambda: "longdoc: stopped. Nothing is kept."):
    import library
print("went on")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (75, "", "longdoc: stopped. Nothing is kept.\n")


AT_AN_IMPORT = """
import os, signal, sys
from longdoc.cli import main

class Hook:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), {number})

sys.meta_path.insert(0, Hook())
sys.argv[1:] = {arguments}
main()
print("went on")
"""


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        (
            "train --data DATA --validation DATA --output OUT",
            "Nothing was measured yet, so no model is kept: the same ",
        ),
        ("predict --model OUT --input DATA --output JOB", "Finished parts are kept: the same command goes on."),
        ("evaluate --model OUT --data DATA --output REPORT", "Nothing is kept: the same command starts over."),
    ],
)
@pytest.mark.parametrize("module", ["torch", "torch.distributed", "torch.nn.functional"])
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_command_that_is_stopped_while_torch_is_loaded_says_what_is_kept(
    tmp_path: Path, command: str, kept: str, module: str, number: signal.Signals
) -> None:
    """`train` ended by SIGSEGV, SIGABRT or a traceback: what it would have said loaded torch once more."""
    (tmp_path / "data.jsonl").write_text('{"text": "the rent is due", "label": "a"}\n' * 2)
    places = {"DATA": "data.jsonl", "OUT": "out", "JOB": "job", "REPORT": "report"}
    arguments = [str(tmp_path / places[word]) if word in places else word for word in command.split()]
    code = AT_AN_IMPORT.format(module=module, number=int(number), arguments=arguments)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (75, ""), done.stderr
    assert done.stderr.startswith(f"longdoc: stopped. {kept}"), done.stderr
