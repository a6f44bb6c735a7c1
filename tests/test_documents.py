"""The documents' commands, run as a reader would run them: what does not work is not written there."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rules import tree
from support import server

FENCE = re.compile(r"(?:<!-- not run: (?P<reason>[^>]+) -->\n)?```sh\n(?P<body>.*?)```", re.DOTALL)
# Documents whose blocks are run one after the other, by the tests below.
RUN = {"docs/first-steps.md"}
_LIMIT_S = 90


@dataclass(frozen=True, kw_only=True)
class Block:
    """One block of commands. reason: why it is not run."""

    document: str
    body: str
    reason: str | None


def blocks(path: Path) -> Iterator[Block]:
    """Every block of commands of a document, in order."""
    for found in FENCE.finditer(path.read_text(encoding="utf-8")):
        yield Block(document=tree.name(path), body=found["body"], reason=found["reason"])


@pytest.mark.covers("X01", "K22")
def test_the_first_steps_work_as_they_are_written(tmp_path: Path) -> None:
    """A new user has nothing but this page."""
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    script = f'#!/bin/sh\nexec {shlex.join(server.COMMAND)} "$@"\n'
    (home / "bin" / "workstead").write_text(script, encoding="utf-8")
    (home / "bin" / "workstead").chmod(0o755)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("WORKSTEAD_")}
    environ |= {
        "HOME": str(home),
        "PATH": f"{home / 'bin'}{os.pathsep}{environ['PATH']}",
        "PYTHONPATH": str(server.SOURCE),
    }
    said = ""
    steps = [block for block in blocks(tree.ROOT / "docs" / "first-steps.md") if block.reason is None]
    assert steps[0].body == "workstead up\n"
    with server.running(home / ".local" / "share" / "workstead"):
        for step in steps[1:]:
            done = subprocess.run(
                ["sh", "-eu", "-c", step.body],
                cwd=tree.ROOT,
                env=environ,
                capture_output=True,
                text=True,
                timeout=_LIMIT_S,
                check=False,
            )
            assert done.returncode == 0, f"{step.body}\n{done.stdout}{done.stderr}"
            said += done.stdout
    assert "ledger: done" in said
    assert "ws_ast_" in said


def test_every_command_in_the_documents_is_run_or_says_why_not() -> None:
    """A document must not promise what nobody tries."""
    loose = [
        f"{block.document}: {block.body.splitlines()[0]}"
        for path in (tree.ROOT / "README.md", *tree.files(tree.DOCS, ".md"))
        if tree.name(path) not in RUN
        for block in blocks(path)
        if block.reason is None
    ]
    assert not loose, "not run by a test and without `<!-- not run: REASON -->`:\n" + "\n".join(loose)
