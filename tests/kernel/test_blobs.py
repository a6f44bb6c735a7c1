"""Content-addressed bytes on disk (K12)."""

import hashlib
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workstead import errors
from workstead.kernel.blobs import Blobs, Staged

DATA = b"some bytes"
DIGEST = hashlib.sha256(DATA).hexdigest()
AN_HOUR_S = 3600.0


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(tmp_path / "blobs")


def stored(tmp_path: Path, digest: str = DIGEST) -> Path:
    return tmp_path / "blobs" / digest[:2] / digest[2:]


def make_old(path: Path) -> None:
    then = path.stat().st_mtime - 2 * AN_HOUR_S
    os.utime(path, (then, then))


@pytest.mark.covers("K12")
def test_staged_bytes_read_back_under_their_digest(blobs: Blobs, tmp_path: Path) -> None:
    """K12: content-addressed."""
    assert blobs.stage(DATA) == Staged(digest=DIGEST, size_bytes=len(DATA))
    assert blobs.exists(DIGEST)
    assert blobs.read(DIGEST) == DATA
    with blobs.open(DIGEST) as file:
        assert file.read() == DATA
    assert stored(tmp_path).read_bytes() == DATA


@pytest.mark.covers("K12")
@given(chunks=st.lists(st.binary(max_size=50)))
def test_a_stream_is_the_same_blob_as_its_bytes(chunks: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> None:
    """A door streams a body; how it was cut into chunks does not matter."""
    blobs = Blobs(tmp_path_factory.mktemp("blobs"))
    assert blobs.stage(iter(chunks)) == blobs.stage(b"".join(chunks))
    assert len(list(blobs.digests())) == 1


@pytest.mark.covers("K12")
def test_files_and_folders_are_private(blobs: Blobs, tmp_path: Path) -> None:
    """Data of the instance belongs to its account: files 0600, folders 0700."""
    blobs.stage(DATA)
    path = stored(tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in (path.parent, tmp_path / "blobs"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.covers("K12")
@pytest.mark.parametrize("damage", [b"some bytez", b"some byte", b""])
def test_damaged_bytes_are_never_given_out(blobs: Blobs, tmp_path: Path, damage: bytes) -> None:
    """K12: checksums verified on read."""
    blobs.stage(DATA)
    stored(tmp_path).write_bytes(damage)
    with pytest.raises(errors.Refusal) as refused:
        blobs.read(DIGEST)
    assert refused.value.code == "blob_damaged"
    with pytest.raises(errors.Refusal), blobs.open(DIGEST):
        pass
    blobs.stage(DATA)
    assert blobs.read(DIGEST) == DATA


@pytest.mark.covers("K12")
def test_a_blob_that_is_not_there_is_not_found(blobs: Blobs) -> None:
    """Missing is a refusal, not an error of the program."""
    assert not blobs.exists(DIGEST)
    with pytest.raises(errors.Refusal) as refused:
        blobs.read(DIGEST)
    assert refused.value.kind is errors.Kind.NOT_FOUND


@pytest.mark.covers("K12", "K15")
@pytest.mark.parametrize("digest", ["", "../../etc/passwd", DIGEST.upper(), DIGEST + "\n", DIGEST[:-1], "ab/" + DIGEST])
def test_only_a_digest_becomes_a_path(blobs: Blobs, digest: str) -> None:
    """Bad input: path tricks."""
    with pytest.raises(errors.Refusal) as refused:
        blobs.exists(digest)
    assert refused.value.code == "digest_invalid"


@pytest.mark.covers("K12")
def test_too_many_bytes_and_broken_streams_leave_nothing(blobs: Blobs, tmp_path: Path) -> None:
    """Bad input: oversized and truncated; nothing is stored."""

    def endless() -> Iterator[bytes]:
        while True:
            yield b"x" * 100

    def broken() -> Iterator[bytes]:
        yield b"x"
        raise ConnectionResetError

    with pytest.raises(errors.Refusal) as refused:
        blobs.stage(endless(), limit_bytes=1000)
    assert refused.value.code == "blob_too_large"
    with pytest.raises(ConnectionResetError):
        blobs.stage(broken())
    assert [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()] == []
    assert blobs.stage(b"x" * 1000, limit_bytes=1000).size_bytes == 1000


@pytest.mark.covers("K12")
def test_the_sweep_takes_only_what_is_old_and_unwanted(blobs: Blobs, tmp_path: Path) -> None:
    """Staged bytes have no row yet for a while; named ones stay for ever."""
    kept, orphan, young = (blobs.stage(data).digest for data in (b"kept", b"orphan", b"young"))
    left_over = tmp_path / "blobs" / "staging" / "tmpx"
    left_over.write_bytes(b"half")
    for path in (stored(tmp_path, kept), stored(tmp_path, orphan), left_over):
        make_old(path)
    assert blobs.sweep(lambda digest: digest == kept, older_than_s=AN_HOUR_S) == 1
    assert sorted(blobs.digests()) == sorted([kept, young])
    assert not blobs.exists(orphan)
    assert not left_over.exists()


@pytest.mark.covers("K12")
def test_staging_an_old_blob_again_protects_it_from_the_sweep(blobs: Blobs, tmp_path: Path) -> None:
    """Otherwise the sweep could take bytes between their staging and their row."""
    blobs.stage(DATA)
    make_old(stored(tmp_path))
    blobs.stage(DATA)
    assert blobs.sweep(lambda _: False, older_than_s=AN_HOUR_S) == 0
    assert blobs.exists(DIGEST)


@pytest.mark.covers("K12")
def test_many_threads_may_stage_the_same_bytes(blobs: Blobs) -> None:
    """Two uploads of one file are one blob."""
    with ThreadPoolExecutor(8) as threads:
        staged = set(threads.map(blobs.stage, [DATA] * 40))
    assert staged == {Staged(digest=DIGEST, size_bytes=len(DATA))}
    assert blobs.read(DIGEST) == DATA


@pytest.mark.covers("K12", "K15")
def test_a_kill_after_staging_leaves_the_whole_blob(tmp_path: Path) -> None:
    """The crash point `blob.staged`: safe bytes without a row are swept later, never half there."""
    program = "import sys; from pathlib import Path; from workstead.kernel.blobs import Blobs; "
    program += "Blobs(Path(sys.argv[1])).stage(b'some bytes')"
    environment = {**os.environ, "WORKSTEAD_CRASH_AT": "blob.staged", "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "blobs")], env=environment, timeout=30, check=False
    )
    assert ended.returncode == -signal.SIGKILL
    assert Blobs(tmp_path / "blobs").read(DIGEST) == DATA
