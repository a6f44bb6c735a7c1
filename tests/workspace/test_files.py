"""Files are reached through the folder's handle and nowhere else (S3)."""

import ctypes
import hashlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from workspace.conftest import names
from workstead import errors
from workstead.workspace import files
from workstead.workspace.files import Folder

pytestmark = pytest.mark.covers("K19", "W17")

EXCHANGE = 2


@pytest.fixture
def folder(project: Path) -> Iterator[Folder]:
    with Folder(project) as opened:
        yield opened


def code_of(refused: pytest.ExceptionInfo[errors.Refusal]) -> str:
    return refused.value.code


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("../secret", "path_outside"),
        ("src/../../secret", "path_outside"),
        ("/etc/passwd", "path_outside"),
        ("a\0b", "path_invalid"),
        ("\ud800", "path_invalid"),
        ("x" * 300, "path_invalid"),
        ("x/" * 3000, "path_invalid"),
    ],
)
def test_a_path_that_cannot_be_meant_is_refused_for_reading_and_writing(folder: Folder, path: str, code: str) -> None:
    """S3: relative, inside, valid UTF-8 text."""
    with pytest.raises(errors.Refusal) as refused:
        folder.read(path, limit_bytes=10)
    assert code_of(refused) == code
    with pytest.raises(errors.Refusal) as refused:
        folder.write(path, b"x")
    assert code_of(refused) == code


def test_a_planted_link_is_followed_neither_for_reading_nor_for_writing(
    folder: Folder, project: Path, data_folder: Path
) -> None:
    """S3: an agent plants a link to a secret and asks the server to read or replace it."""
    secret = data_folder / "instance.key"
    (project / "evil").symlink_to(secret)
    for act in (
        lambda: folder.read("evil", limit_bytes=100),
        lambda: folder.digest("evil"),
        lambda: folder.write("evil", b"x"),
    ):
        with pytest.raises(errors.Refusal):
            act()
    assert secret.read_text() == "top secret"
    assert folder.stat("evil").kind == "link"


def test_a_planted_link_to_a_folder_leads_nowhere(folder: Folder, project: Path, data_folder: Path) -> None:
    """S3: a link in the middle of a path."""
    (project / "evil").symlink_to(data_folder)
    for act in (
        lambda: folder.read("evil/instance.key", limit_bytes=100),
        lambda: folder.write("evil/new", b"x"),
        lambda: folder.remove("evil/instance.key"),
        lambda: folder.listing("evil"),
        lambda: list(folder.walk("evil")),
    ):
        with pytest.raises(errors.Refusal) as refused:
            act()
        assert code_of(refused) == "path_blocked"
    assert [entry.name for entry in folder.walk()] == ["evil"]
    assert sorted(path.name for path in data_folder.iterdir()) == ["instance.key"]


def test_a_fifo_is_refused_at_once(folder: Folder, project: Path) -> None:
    """S3: opening a fifo the ordinary way would wait for ever."""
    os.mkfifo(project / "pipe")
    with pytest.raises(errors.Refusal) as refused:
        folder.read("pipe", limit_bytes=10)
    assert code_of(refused) == "path_not_file"


def test_writing_replaces_a_hard_link_and_leaves_the_other_name_alone(
    folder: Folder, project: Path, tmp_path: Path
) -> None:
    """S3: a second name of an outside file must not be written through."""
    outside = tmp_path / "outside"
    outside.write_text("before")
    os.link(outside, project / "twin")
    folder.write("twin", b"after")
    assert outside.read_text() == "before"
    assert folder.read("twin", limit_bytes=10) == b"after"


def test_a_write_makes_parents_keeps_the_mode_and_leaves_no_temporary_file(folder: Folder, project: Path) -> None:
    """W17 write: whole replace."""
    facts = folder.write("bin/tool.sh", b"one")
    (project / "bin/tool.sh").chmod(0o750)
    again = folder.write("bin/tool.sh", b"second")
    assert (facts.size_bytes, again.size_bytes, again.mode) == (3, 6, 0o750)
    assert (project / "bin/tool.sh").read_bytes() == b"second"
    assert [path.name for path in (project / "bin").iterdir()] == ["tool.sh"]


def test_what_is_new_belongs_to_the_owner_of_the_folder(tmp_path: Path) -> None:
    """A root server works in another person's folder (S1)."""
    if os.geteuid() != 0:
        pytest.skip("needs a root server")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, 4242, 4242)
    with Folder(theirs) as folder:
        folder.write("new/file", b"x")
    assert {(theirs / "new").stat().st_uid, (theirs / "new/file").stat().st_uid} == {4242}


def test_a_file_beyond_the_limit_is_refused_whole_and_readable_in_parts(folder: Folder) -> None:
    """A silent cut would be written back as the whole file."""
    folder.write("big", b"0123456789")
    with pytest.raises(errors.Refusal) as refused:
        folder.read("big", limit_bytes=9)
    assert code_of(refused) == "file_too_large"
    assert refused.value.details["size_bytes"] == 10
    assert folder.read("big", limit_bytes=10) == b"0123456789"
    assert folder.read_part("big", offset_bytes=8, limit_bytes=5) == b"89"
    assert folder.read_part("big", offset_bytes=80, limit_bytes=5) == b""


def test_what_is_workstead_s_own_is_written_by_the_server_s_own_method_only(folder: Folder, project: Path) -> None:
    """The write gate of the file tools."""
    for path in (".workstead/config", ".workstead/work/x", "./.workstead/x", ".Workstead/x"):
        with pytest.raises(errors.Refusal) as refused:
            folder.write(path, b"x")
        assert code_of(refused) == "path_protected"
    with pytest.raises(errors.Refusal):
        folder.remove(".workstead/work/.gitignore")
    with pytest.raises(errors.Refusal):
        folder.write_own("src/x", b"x")
    folder.write_own(".workstead/work/cards/1/note", b"x")
    assert (project / ".workstead/work/cards/1/note").read_bytes() == b"x"


def test_a_missing_file_and_a_folder_have_their_own_answers(folder: Folder) -> None:
    """Refusals say what to do."""
    folder.write("src/a", b"x")
    with pytest.raises(errors.Refusal) as refused:
        folder.read("src/b", limit_bytes=1)
    assert refused.value.kind is errors.Kind.NOT_FOUND
    for act in (
        lambda: folder.read("src", limit_bytes=1),
        lambda: folder.remove("src"),
        lambda: folder.write("src", b""),
    ):
        with pytest.raises(errors.Refusal) as refused:
            act()
        assert code_of(refused) == "path_not_file"
    with pytest.raises(errors.Refusal) as refused:
        folder.listing("src/a")
    assert code_of(refused) == "path_blocked"


def test_removing_a_link_leaves_its_target(folder: Folder, project: Path, data_folder: Path) -> None:
    """S3."""
    (project / "evil").symlink_to(data_folder / "instance.key")
    folder.remove("evil")
    assert not (project / "evil").is_symlink()
    assert (data_folder / "instance.key").exists()


def test_a_digest_is_the_sha_256_of_the_bytes(folder: Folder) -> None:
    """A write that is unknown after a crash is compared by digest (K15)."""
    folder.write("a", b"hello" * 100_000)
    assert folder.digest("a") == hashlib.sha256(b"hello" * 100_000).hexdigest()


def test_a_walk_is_depth_first_in_plain_order_without_caches_and_ignored_folders(folder: Folder) -> None:
    """The walk rules of glob and grep (W17)."""
    for path in (
        "b/2",
        "b/1",
        "a",
        "Z/x",
        ".git/config",
        "node_modules/m/i.js",
        "b/__pycache__/c",
        "data/huge",
        "gen/out/y",
    ):
        folder.write(path, b"")
    folder.write(files.IGNORE_FILE, b"# generated\n\ndata/\ngen/out\n")
    assert [entry.path for entry in folder.walk()] == [
        files.IGNORE_FILE, "Z", "Z/x", "a", "b", "b/1", "b/2", "gen"
    ]  # fmt: skip
    assert [entry.path for entry in folder.walk("b")] == ["b/1", "b/2"]


@pytest.mark.parametrize("content", [b"*.log\n", b"!keep\n", b"/abs\n", b"a/../b\n", b"\xff\n", b"\xef\xbb\xbfdata\n"])
def test_an_invalid_ignore_file_fails_the_search(folder: Folder, content: bytes) -> None:
    """Searching what was meant to be left out is not what its author asked for."""
    folder.write(files.IGNORE_FILE, content)
    with pytest.raises(errors.Refusal) as refused:
        list(folder.walk())
    assert code_of(refused) == "search_ignore_invalid"


def test_an_ignore_file_that_is_a_link_fails_the_search(folder: Folder, project: Path, data_folder: Path) -> None:
    """S3: the server reads that file by itself."""
    (project / files.IGNORE_FILE).symlink_to(data_folder / "instance.key")
    with pytest.raises(errors.Refusal) as refused:
        list(folder.walk())
    assert code_of(refused) == "search_ignore_invalid"


def test_a_name_that_is_not_utf8_is_shown_and_not_reachable(folder: Folder, project: Path) -> None:
    """A name must never break what is made of a listing."""
    os.close(os.open(os.fsencode(project) + b"/bad\xff", os.O_CREAT | os.O_WRONLY))
    shown = [entry for entry in folder.listing("") if entry.name.startswith("bad")]
    assert [(entry.name, entry.kind) for entry in shown] == [("bad\ufffd", "other")]


def test_a_walk_of_very_deep_folders_ends(folder: Folder, project: Path) -> None:
    """Each level costs a descriptor, so depth has a limit."""
    deep = os.open(project, os.O_RDONLY)
    for _ in range(200):
        os.mkdir("d", dir_fd=deep)
        below = os.open("d", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = below
    os.close(deep)
    assert len(list(folder.walk())) == files.DEPTH_LIMIT + 1


def test_a_folder_swapped_for_a_link_during_a_write_leads_nowhere(
    folder: Folder, project: Path, data_folder: Path
) -> None:
    """S3: a command may exchange what a path names between our look and our use."""
    (project / "d").mkdir()
    (project / "link").symlink_to(data_folder)
    stop = threading.Event()
    libc = ctypes.CDLL(None)

    def swap() -> None:
        while not stop.is_set():
            libc.renameat2(-100, bytes(project / "d"), -100, bytes(project / "link"), EXCHANGE)

    swapping = threading.Thread(target=swap)
    swapping.start()
    outcomes = {"written": 0, "refused": 0}
    try:
        for number in range(100_000):  # on a busy machine one of the two is rare
            if min(outcomes.values()) >= 20:
                break
            try:
                folder.write(f"d/{number}", b"x")
                outcomes["written"] += 1
            except errors.Refusal:
                outcomes["refused"] += 1
    finally:
        stop.set()
        swapping.join()
    assert names(data_folder) == ["instance.key"]
    assert min(outcomes.values()) >= 20, "the test did not meet both states"
