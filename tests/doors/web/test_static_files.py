"""Static files: their address is their content, so a browser may keep them for ever."""

from pathlib import Path

from support.server import Running
from workstead.doors.web import static_files


def test_files_are_kept_for_ever_under_their_digest(live: Running) -> None:
    """First-hour decisions, addresses: `/static/{digest}/`."""
    found = static_files.read()
    for name in found.contents:
        answer = live.get(found.url(name))
        assert answer.status == 200
        assert answer.body == found.contents[name]
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"


def test_another_digest_and_another_name_are_not_there(live: Running) -> None:
    """An old page must not mix with new files."""
    found = static_files.read()
    assert live.get("/static/0000000000000000/live.js").status == 404
    assert live.get(f"/static/{found.digest}/..%2Froutes.py").status == 404


def test_a_changed_file_changes_the_address(tmp_path: Path) -> None:
    """The digest is of all files: modules import each other by relative names."""
    (tmp_path / "a.css").write_text("a { }", encoding="utf-8")
    before = static_files.read(tmp_path).digest
    (tmp_path / "a.css").write_text("b { }", encoding="utf-8")
    assert static_files.read(tmp_path).digest != before
