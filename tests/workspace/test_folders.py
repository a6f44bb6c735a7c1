"""Which folders a project may have (S3)."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from workspace.conftest import names
from workstead import errors
from workstead.workspace import folders

pytestmark = pytest.mark.covers("K19")


def refused_as(path: Path, *, data_folder: Path, others: tuple[Path, ...] = ()) -> str:
    with pytest.raises(errors.Refusal) as refused:
        folders.admit(path, data_folder=data_folder, others=others)
    return refused.value.code


def test_an_ordinary_folder_is_admitted_by_its_real_path(tmp_path: Path, data_folder: Path) -> None:
    """A link is resolved once, when the folder is bound."""
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    assert folders.admit(tmp_path / "link", data_folder=data_folder, others=()) == real


@pytest.mark.parametrize(
    ("choose", "code"),
    [
        (lambda data: data, "folder_data"),
        (lambda data: data / "inside", "folder_data"),
        (lambda data: data.parent, "folder_data"),
        (lambda data: data.parent / "absent", "folder_missing"),
        (lambda data: data / "instance.key", "folder_not_directory"),
        (lambda _: Path("relative"), "folder_relative"),
        (lambda _: Path("/"), "folder_root"),
        (lambda _: Path.home(), "folder_home"),
        (lambda _: Path("/etc"), "folder_system"),
        (lambda _: Path("/proc/self"), "folder_system"),
        (lambda _: Path("/usr"), "folder_system"),
    ],
)
def test_each_forbidden_folder_has_its_own_refusal(
    data_folder: Path, choose: Callable[[Path], Path], code: str
) -> None:
    """S3."""
    (data_folder / "inside").mkdir()
    assert refused_as(choose(data_folder), data_folder=data_folder) == code


def test_folders_of_two_projects_may_not_overlap_not_even_through_a_link(tmp_path: Path, data_folder: Path) -> None:
    """S3: the same, inside, and around; the link leads inside."""
    other = tmp_path / "other"
    (other / "inside").mkdir(parents=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/link").symlink_to(other / "inside")
    (other / "nested/deep").mkdir(parents=True)
    for path, others in (
        (other, (other,)),
        (other / "inside", (other,)),
        (other, (other / "inside",)),
        (tmp_path / "mine/link", (other,)),
    ):
        assert refused_as(path, data_folder=data_folder, others=others) == "folder_overlaps"
    assert folders.admit(tmp_path / "mine", data_folder=data_folder, others=(other,)) == tmp_path / "mine"


def test_preparing_makes_the_work_folder_once_and_keeps_it_out_of_commits(tmp_path: Path) -> None:
    """Both must stand before the first command (S1)."""
    folders.prepare(tmp_path)
    folders.prepare(tmp_path)
    assert (tmp_path / folders.WORK / ".gitignore").read_text() == "*\n"


def test_a_folder_that_brings_its_own_link_as_workstead_folder_is_refused(tmp_path: Path, data_folder: Path) -> None:
    """A hostile repository may hold `.workstead` as a link to somewhere else."""
    project = tmp_path / "hostile"
    project.mkdir()
    (project / ".workstead").symlink_to(data_folder)
    with pytest.raises(errors.Refusal) as refused:
        folders.prepare(project)
    assert refused.value.code == "path_blocked"
    assert names(data_folder) == ["instance.key"]


def test_a_folder_that_the_server_may_not_write_is_refused() -> None:
    """quality.md, "Bad input". Root may write everywhere, so an account that may not asks."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        top = Path(name)
        top.chmod(0o755)
        locked = top / "locked"
        locked.mkdir(mode=0o755)
        asking = os.fork()
        if asking == 0:
            os._exit(_codes_met(locked, top / "data"))
        _, status = os.waitpid(asking, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def _codes_met(locked: Path, data_folder: Path) -> int:
    if os.geteuid() == 0:
        os.setuid(65534)
    else:
        locked.chmod(0o555)
    try:
        folders.admit(locked, data_folder=data_folder, others=())
    except errors.Refusal as refusal:
        return 0 if refusal.code == "folder_unwritable" else 2
    return 1
