"""The Linux calls report what the kernel said."""

import ctypes
import errno

import pytest

from workstead.workspace import syscalls

pytestmark = pytest.mark.covers("K19")


def test_a_failed_call_names_what_was_tried() -> None:
    """The operator reads it in the level's report."""
    ctypes.set_errno(errno.EPERM)
    with pytest.raises(OSError, match="unshare: Operation not permitted") as refused:
        syscalls.check(-1, "unshare")
    assert refused.value.errno == errno.EPERM
    assert syscalls.check(3, "open") == 3


def test_a_tree_that_is_not_there_is_refused_with_its_path() -> None:
    """Not root and not allowed, or not there: either way with the path."""
    with pytest.raises(OSError, match="open_tree /no/such/place"):
        syscalls.copy_mounts("/no/such/place", flags=syscalls.READ_ONLY)
