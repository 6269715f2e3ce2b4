"""The shared set-up: once, again in no time, repaired after a kill, one at a time, and silent about addresses.

The installers themselves are replaced, so that nothing is downloaded; everything around them is the real script.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="the set-up scripts need bash")

INSTALLED = """
run_installers() {
  mkdir -p "$environment_folder/bin" && ln -sf "$REAL_PYTHON" "$environment_python"
  echo "$2" >>"$environment_root/installed"
  BODY
}
prepare_environment EXTRAS
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "scripts").mkdir()
    for name in ("scripts/environment.sh", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def start(checkout: Path, body: str = "true", extras: str = "dev") -> subprocess.Popen[str]:
    script = ". scripts/environment.sh\n" + INSTALLED.replace("BODY", body).replace("EXTRAS", extras)
    return subprocess.Popen(
        [BASH or "bash", "-euo", "pipefail", "-c", script],
        cwd=checkout,
        env=os.environ | {"REAL_PYTHON": sys.executable, "CI": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def set_up(checkout: Path, body: str = "true", extras: str = "dev") -> tuple[int, str]:
    process = start(checkout, body, extras)
    output, errors = process.communicate(timeout=120)
    assert output == ""
    return process.returncode, errors


def installed(checkout: Path) -> list[str]:
    return (checkout / "installed").read_text().splitlines()


def wait_for(path: Path) -> None:
    for _ in range(1200):
        if path.exists():
            return
        time.sleep(0.05)
    pytest.fail(f"{path.name} did not appear")


def test_the_second_start_does_and_says_nothing(checkout: Path) -> None:
    status, said = set_up(checkout)
    assert status == 0
    assert said == 'Setting up .venv with the extra "dev"; the first time this takes a few minutes ...\n'

    assert set_up(checkout) == (0, "")
    assert installed(checkout) == ["dev"]


@pytest.mark.slow
def test_other_extras_and_other_pins_are_installed_on_top(checkout: Path) -> None:
    set_up(checkout)
    (checkout / ".venv" / "kept").touch()
    assert set_up(checkout, extras="demo")[0] == 0
    assert set_up(checkout)[1] == ""  # the first extra is still there

    with (checkout / "constraints.txt").open("a") as pins:
        pins.write("another==1.0\n")
    assert set_up(checkout)[0] == 0
    assert installed(checkout) == ["dev", "demo", "dev"]
    assert (checkout / ".venv" / "kept").exists()


def test_a_set_up_that_was_killed_is_made_anew(checkout: Path) -> None:
    process = start(checkout, body='touch "$environment_folder/half-written"; sleep 600')
    wait_for(checkout / ".venv" / "half-written")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()

    status, said = set_up(checkout)
    assert status == 0
    assert said.startswith("The last set-up was interrupted: making .venv anew.\n")
    assert not (checkout / ".venv" / "half-written").exists()
    assert set_up(checkout) == (0, "")


@pytest.mark.slow
def test_two_at_once_take_turns_and_install_once(checkout: Path) -> None:
    go = checkout / "go"
    first = start(checkout, body=f'while [ ! -e "{go}" ]; do sleep 0.05; done')
    wait_for(checkout / "installed")
    second = start(checkout)
    assert second.stderr is not None
    assert second.stderr.readline() == "Another set-up is at work, waiting for it ...\n"
    go.touch()

    assert first.wait(timeout=120) == second.wait(timeout=120) == 0
    assert installed(checkout) == ["dev"]
    for process in (first, second):
        process.communicate()


def test_a_failure_keeps_what_is_there_and_hides_addresses(checkout: Path) -> None:
    set_up(checkout)
    (checkout / ".venv" / "kept").touch()
    noise = (
        "echo \"ERROR: no answer from https://user:secret@packages.example/simple: (host='packages.example')\"; "
        "echo 'Looking in indexes: https://packages.example'; false"
    )
    status, said = set_up(checkout, body=noise, extras="demo")

    assert status == 1
    assert "packages.example" not in said
    assert "ERROR: no answer from (address) (host=(host))\n" in said
    assert said.endswith("The set-up failed. The whole log is .venv/setup.log; the same command tries again.\n")
    assert "packages.example" in (checkout / ".venv" / "setup.log").read_text()
    assert (checkout / ".venv" / "kept").exists()
    assert set_up(checkout, extras="demo")[0] == 0


def test_an_environment_whose_python_is_gone_is_made_anew(checkout: Path) -> None:
    set_up(checkout)
    python = checkout / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to(checkout / "uninstalled")

    assert set_up(checkout)[0] == 0
    assert installed(checkout) == ["dev", "dev"]


MACHINE = """
CI=true
id() { echo 0; }
has() { [ "$1" = apt-get ]; }
apt-get() { echo "$*" >>"$environment_root/system"; ENDS; }
"""


MISSED = "Chromium could not be installed, so the tests of reports in a browser will be skipped.\n"
INSTALL = "install -y -qq --no-install-recommends chromium"


@pytest.mark.parametrize(
    ("extras", "otherwise", "ends", "done", "said"),
    [
        ("dev", "true", "true", ["update -qq", INSTALL], ""),
        ("dev", "true", "false", ["update -qq"], MISSED),
        ("demo", "true", "true", [], ""),
        ("dev", "CI=", "true", [], ""),
    ],
)
def test_a_browser_is_installed_on_build_machines_only(
    checkout: Path, extras: str, otherwise: str, ends: str, done: list[str], said: str
) -> None:
    body = f"true\n}}\n{MACHINE.replace('ENDS', ends)}\n{otherwise}\nnothing() {{ true"
    status, errors = set_up(checkout, body, extras)
    assert status == 0
    assert errors.partition("...\n")[2] == said
    system = checkout / "system"
    assert (system.read_text().splitlines() if system.exists() else []) == done
