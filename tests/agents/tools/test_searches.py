"""`glob` and `grep` on a real folder."""

from pathlib import Path
from typing import Any

import pytest

from agents.tools import shop
from agents.tools.shop import SECRET, Shop
from workstead.kernel import canonical


def plant(place: Shop) -> None:
    """A small tree with what searches leave out."""
    for name, text in {
        "src/a.py": "import os\nx = 1\n",
        "src/deep/b.py": "import sys\n\ny = 'import'\r\n",
        "web/c.ts": "import x\n",
        "node_modules/d.py": "import d\n",
        ".git/e.py": "import e\n",
        "left/out/f.py": "import f\n",
        ".workstead-search-ignore": "left/out\n",
    }.items():
        path = place.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


@pytest.mark.covers("W17")
async def test_glob_finds_files_in_order_and_leaves_out_what_is_not_source(tmp_path: Path) -> None:
    """Facts 2.6, walk rules."""
    async with shop.opened(tmp_path) as place:
        plant(place)
        found = await place.call("glob", directory="", pattern="*.py")
        assert found["matches"]["items"] == ["src/a.py", "src/deep/b.py"]
        assert found["incomplete"] is None
        below = await place.call("glob", directory="src", pattern="*/*.py")
        assert below["matches"]["items"] == ["src/deep/b.py"]
        first = await place.call("glob", directory="project:///", pattern="**", max_results=1)
        assert (len(first["matches"]["items"]), first["incomplete"]) == (1, "max_results")


@pytest.mark.covers("W17")
async def test_grep_finds_lines_with_their_numbers(tmp_path: Path) -> None:
    """Facts 2.6."""
    async with shop.opened(tmp_path) as place:
        plant(place)
        found = await place.call("grep", pattern="import", include="*.py")
        assert found["matches"]["items"] == [
            {"path": "src/a.py", "line": 1, "text": "import os"},
            {"path": "src/deep/b.py", "line": 1, "text": "import sys"},
            {"path": "src/deep/b.py", "line": 3, "text": "y = 'import'"},
        ]
        one = await place.call("grep", pattern="^y", path="src/deep/b.py")
        assert one["matches"]["items"] == [{"path": "src/deep/b.py", "line": 3, "text": "y = 'import'"}]
        named = await place.call("grep", pattern="import", path="web", include="*.ts")
        assert [item["path"] for item in named["matches"]["items"]] == ["web/c.ts"]


@pytest.mark.covers("W17", "K09")
async def test_grep_skips_binary_and_large_files_and_hides_secrets(tmp_path: Path) -> None:
    """S21; a search says what it left out."""
    async with shop.opened(tmp_path) as place:
        (place.folder / "bin").write_bytes(b"needle\0")
        with (place.folder / "large").open("wb") as file:
            file.write(b"needle\n")
            file.truncate(6 << 20)
        (place.folder / "conf").write_text(f"needle {SECRET}\n")
        found = await place.call("grep", pattern="needle")
        assert [item["path"] for item in found["matches"]["items"]] == ["conf"]
        assert SECRET not in found["matches"]["items"][0]["text"]
        assert found["skipped_large_files"] == 1
        guess = await place.call("grep", pattern=SECRET[:10])
        assert guess["matches"]["items"] == []


@pytest.mark.covers("W17")
async def test_long_lines_are_searched_so_far_and_shown_around_the_match(tmp_path: Path) -> None:
    """Facts 10.1: 2 000 characters searched, 500 shown."""
    async with shop.opened(tmp_path) as place:
        (place.folder / "long").write_text("x" * 1500 + "needle" + "x" * 1000 + "late\n")
        found = await place.call("grep", pattern="needle")
        (item,) = found["matches"]["items"]
        assert "needle" in item["text"]
        assert len(item["text"]) <= 500
        assert (found["content_truncated"], found["max_line_chars"]) == (True, 2000)
        assert (await place.call("grep", pattern="late"))["matches"]["items"] == []


@pytest.mark.covers("W17", "K10")
async def test_matches_come_in_pages_that_fit(tmp_path: Path) -> None:
    """Facts 2.3."""
    async with shop.opened(tmp_path) as place:
        (place.folder / "many").write_text("".join(f"hit {number} \x01\n" for number in range(150)))
        lines: list[int] = []
        position: Any = None
        while True:
            acted = await place.act("grep", pattern="hit", position=position, response_bytes=700)
            assert len(canonical.dump(acted.result.body())) <= 700
            data: Any = acted.result.data
            lines += [item["line"] for item in data["matches"]["items"]]
            position = data["matches"]["next"]
            if position is None:
                break
        assert lines == list(range(1, 151))


@pytest.mark.covers("W17", "K19")
async def test_searches_stay_in_the_folder(tmp_path: Path) -> None:
    """S3: links are not followed; S1: nothing outside."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "key.py").write_text("needle")
    async with shop.opened(tmp_path) as place:
        (place.folder / "door").symlink_to(outside)
        assert (await place.call("grep", pattern="needle"))["matches"]["items"] == []
        assert (await place.call("glob", directory="", pattern="**/key.py"))["matches"]["items"] == []
        for path in ("door", "/etc", "../outside", "system:///etc"):
            assert await place.refused("glob", directory=path, pattern="*") in {
                "path_blocked",
                "path_not_folder",
                "path_outside",
                "address_unknown",
            }
        assert await place.refused("grep", pattern="x", path="../outside") == "path_outside"
        assert await place.refused("grep", pattern="x", path="record:///status.md") == "address_not_file"
        assert await place.refused("grep", pattern="(a+)+b") == "pattern_too_costly"
        assert await place.refused("grep", pattern="x", max_results=1001) == "input_invalid"


@pytest.mark.covers("W17")
async def test_captured_output_can_be_searched(tmp_path: Path) -> None:
    """Facts 6.6: `work:///` is read, and results are addresses that can be read again."""
    async with shop.opened(tmp_path) as place:
        await place.call("write", path="tmp:///log/x.txt", content="needle")
        for path in ("work:///cards", "tmp:///"):
            found = await place.call("grep", pattern="needle", path=path)
            (item,) = found["matches"]["items"]
            assert (await place.call("read", path=item["path"]))["content"] == "needle"
