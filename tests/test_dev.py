"""`./dev` makes its environment once per lock, passes arguments on, and is quiet when all is well."""

import shutil
import subprocess
from pathlib import Path

import pytest

from plugin import table

# Stands for Python: writes down how it was called, makes what `-m venv` would make, fails when told to.
PYTHON = """#!/bin/sh
echo "$*" >> "$CALLS"
case "$*" in *"$FAIL_AT"*) [ -z "$FAIL_AT" ] || { echo "broken: $FAIL_AT"; exit 1; } ;; esac
[ "$1 $2" != "-m venv" ] || { mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; }
"""


FULL_RUN = "-m pytest --report=build/report.json --numprocesses=auto --maxprocesses=4 --dist=loadfile"


class Checkout:
    """A checkout of `./dev` alone, on a machine whose only Python is the stand-in."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "checkout with a blank"
        self.calls = folder / "calls"
        self.bin = folder / "bin"
        for place in (self.root, self.bin):
            place.mkdir()
        for name in ("dev", ".ci/run", "requirements.lock", "requirements-dev.lock"):
            (self.root / name).parent.mkdir(exist_ok=True)
            shutil.copy(table.ROOT / name, self.root / name)
        for tool in ("cat", "cmp", "cp", "dirname", "mkdir", "rm"):
            (self.bin / tool).symlink_to(shutil.which(tool) or tool)
        (self.bin / "python3").write_text(PYTHON)
        (self.bin / "python3").chmod(0o755)

    def run(self, *command: str, fail_at: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command of the checkout; `calls` then holds what Python was asked for."""
        self.calls.write_text("")
        environ = {"PATH": str(self.bin), "CALLS": str(self.calls), "FAIL_AT": fail_at}
        return subprocess.run(
            [str(self.root / command[0]), *command[1:]],
            cwd=cwd or self.root,
            env=environ,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def asked(self) -> list[str]:
        """What Python was asked for in the last run."""
        return self.calls.read_text().splitlines()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_the_environment_is_made_from_the_hashes_of_the_lock(checkout: Checkout) -> None:
    """quality.md, commands: nothing but Python 3.11 is needed."""
    done = checkout.run("dev", "bench")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    _, venv, locked, project, bench = checkout.asked()
    assert venv == f"-m venv {checkout.root}/.venv"
    assert locked.endswith(f"install --require-hashes -r {checkout.root}/requirements-dev.lock")
    assert project.endswith(f"install --no-deps --no-build-isolation -e {checkout.root}")
    assert bench == "-m bench"


def test_the_environment_is_made_again_only_when_the_lock_changes(checkout: Checkout) -> None:
    """A second call must start at once."""
    checkout.run("dev", "bench")
    checkout.run("dev", "bench")
    assert checkout.asked() == ["-m bench"]
    with (checkout.root / "requirements-dev.lock").open("a") as lock:
        lock.write("# newer\n")
    assert "Making the environment" in checkout.run("dev", "bench").stderr
    assert len(checkout.asked()) == 5


def test_the_product_alone_needs_no_packages_of_the_tests(checkout: Checkout) -> None:
    """The first command of a newcomer must not wait for browsers and checkers; a later test fetches them."""
    checkout.run("dev", "demo")
    locked = checkout.asked()[-2]
    assert locked.endswith(f"install --require-hashes -r {checkout.root}/requirements.lock")
    checkout.run("dev", "up")
    assert len(checkout.asked()) == 1
    assert "Making the environment" in checkout.run("dev", "bench").stderr
    checkout.run("dev", "demo")
    assert len(checkout.asked()) == 1


@pytest.mark.parametrize("step", ["-m venv", "--require-hashes", "--no-deps"])
def test_an_environment_that_broke_off_is_not_taken_for_a_whole_one(checkout: Checkout, step: str) -> None:
    """An interrupted download must not leave a half environment behind for good."""
    broken = checkout.run("dev", "bench", fail_at=step)
    assert broken.returncode != 0
    assert "-m bench" not in checkout.asked()
    assert checkout.run("dev", "bench").returncode == 0
    assert len(checkout.asked()) == 5


def test_an_environment_behind_a_link_is_used_as_it_is(checkout: Checkout) -> None:
    """Several checkouts may share one; none of them may remake it."""
    shared = checkout.root.parent / "shared"
    (shared / "bin").mkdir(parents=True)
    shutil.copy(checkout.bin / "python3", shared / "bin/python")
    (checkout.root / ".venv").symlink_to(shared)
    assert checkout.run("dev", "bench", "writes").returncode == 0
    assert checkout.asked() == ["-m bench writes"]


def test_without_a_python_new_enough_one_sentence_says_so(checkout: Checkout) -> None:
    """The first thing a newcomer may meet."""
    done = checkout.run("dev", "test", fail_at="version_info")
    assert done.returncode == 1
    assert done.stderr == "Workstead needs Python 3.11 or newer; none was found.\n"
    assert not (checkout.root / ".venv").exists()


@pytest.mark.parametrize("command", ["demo", "up"])
def test_the_product_gets_its_arguments_and_the_callers_folder(checkout: Checkout, command: str) -> None:
    """`./dev up FOLDER` means a folder beside the person, not beside the script."""
    checkout.run("dev", "bench")
    done = checkout.run("dev", command, "a folder", "--headless", cwd=checkout.root.parent)
    assert done.returncode == 0
    assert checkout.asked()[-1].endswith(f"main() {command} a folder --headless")


def test_check_runs_every_step_and_is_quiet(checkout: Checkout) -> None:
    """quality.md, commands: format, lint, types, import contracts, sizes, rules."""
    checkout.run("dev", "bench")
    done = checkout.run("dev", "check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "check: all is well\n", "")
    steps = [
        "ruff format --check",
        "ruff check",
        "mypy src tests bench",
        "lint_imports",
        "pytest -q tests/rules",
    ]
    assert len(checkout.asked()) == len(steps)
    assert all(step in asked for step, asked in zip(steps, checkout.asked(), strict=True))


def test_check_goes_on_after_a_failing_step_and_shows_what_it_said(checkout: Checkout) -> None:
    """One run tells everything there is to mend."""
    checkout.run("dev", "bench")
    done = checkout.run("dev", "check", fail_at="-m ruff")
    assert done.returncode == 1
    assert len(checkout.asked()) == 5
    assert done.stderr.count("broken: -m ruff") == 2
    assert done.stderr.endswith("check: failed: format lint\n")


def test_only_a_full_test_run_is_reported(checkout: Checkout) -> None:
    """The capability table speaks of all tests or of none."""
    checkout.run("dev", "bench")
    checkout.run("dev", "test")
    assert checkout.asked() == [FULL_RUN]
    checkout.run("dev", "test", "tests/rules", "-x")
    assert checkout.asked() == ["-m pytest tests/rules -x"]


def test_continuous_integration_runs_check_then_test_and_nothing_after_a_failure(checkout: Checkout) -> None:
    """quality.md, commands."""
    checkout.run("dev", "bench")
    assert checkout.run(".ci/run").returncode == 0
    assert checkout.asked()[-1] == FULL_RUN
    assert len(checkout.asked()) == 6
    assert checkout.run(".ci/run", fail_at="mypy").returncode == 1
    assert len(checkout.asked()) == 5


def test_help_names_every_command_and_a_wrong_one_is_refused(checkout: Checkout) -> None:
    """A person who does not know the command gets the list."""
    told = checkout.run("dev", "help").stdout
    commands = ["demo", "up", "test", "check", "bench", "capabilities", "catalogue", "pictures", "lock"]
    assert [line.split()[1] for line in told.splitlines()] == commands
    wrong = checkout.run("dev", "tset")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "no './dev tset'" in wrong.stderr
    assert checkout.asked() == []
