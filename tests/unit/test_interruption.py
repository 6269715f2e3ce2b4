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
