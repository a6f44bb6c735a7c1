"""What is kept of a command's output."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from workstead.workspace import captures
from workstead.workspace.captures import Capture, Captures
from workstead.workspace.files import Folder

pytestmark = pytest.mark.covers("W17")


@pytest.fixture
def folder(project: Path) -> Iterator[Folder]:
    with Folder(project) as opened:
        yield opened


async def taken(capture: Capture, data: bytes) -> captures.CaptureFacts:
    read, write = os.pipe()
    os.set_blocking(read, False)
    try:
        os.write(write, data)
        os.close(write)
        await capture.pump(read)
    finally:
        os.close(read)
        capture.close()
    return capture.facts


async def test_a_capture_keeps_the_file_up_to_its_cap_and_a_small_head(folder: Folder, project: Path) -> None:
    """The head is for the answer, the file for whoever wants the whole."""
    asked = Captures(stdout_path=".workstead/work/out.log", cap_bytes=10, head_bytes=4)
    facts = await taken(Capture(folder=folder, path=asked.stdout_path, captures=asked), b"0123456789abcdef")
    assert (facts.head, facts.size_bytes, facts.kept_bytes, facts.complete) == (b"0123", 16, 10, False)
    assert (project / asked.stdout_path).read_bytes() == b"0123456789"


async def test_output_of_exactly_the_cap_is_complete(folder: Folder) -> None:
    """An edge that is easily off by one."""
    asked = Captures(stdout_path=".workstead/work/out.log", cap_bytes=16)
    facts = await taken(Capture(folder=folder, path=asked.stdout_path, captures=asked), b"0123456789abcdef")
    assert (facts.kept_bytes, facts.complete) == (16, True)


async def test_without_a_file_only_the_head_is_kept(folder: Folder) -> None:
    """For the server's own programs."""
    facts = await taken(Capture(folder=folder, path="", captures=Captures(head_bytes=4)), b"01234")
    assert (facts.head, facts.complete, facts.path) == (b"0123", False, "")


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("short", "short"),
        ("line\n" * 40, "line\n" * 30),
        ("x" * 3000, "x" * 2048),
        ("x" * 2047 + "é", "x" * 2047),
        ("x" * 2046 + "é", "x" * 2046 + "é"),
        ("", ""),
    ],
)
def test_a_head_text_is_cut_between_lines_and_characters(text: str, head: str) -> None:
    """At most 2 048 UTF-8 bytes and 30 lines (W17)."""
    assert captures.head_text(text) == head
