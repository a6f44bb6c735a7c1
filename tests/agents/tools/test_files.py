"""`read`, `write`, `edit`, `apply_patch` on a real folder: what they do, and what they never reach."""

import threading
from functools import partial
from pathlib import Path
from typing import Any

import anyio.lowlevel
import pytest

from agents.tools import shop
from agents.tools.shop import SECRET
from workstead.kernel import canonical

OUTSIDE = ["/etc/passwd", "../secret", "a/../../secret", "system:///etc/passwd", "file:///etc/passwd", "a\0b"]


@pytest.mark.covers("W17")
async def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """Facts 2.6."""
    async with shop.opened(tmp_path) as place:
        wrote = await place.call("write", path="src/new/a.txt", content="Grüße\n")
        assert wrote["destination_kind"] == "project"
        assert (wrote["target"], wrote["bytes"], wrote["written"]) == ("src/new/a.txt", 8, True)
        assert (place.folder / "src/new/a.txt").read_text() == "Grüße\n"
        for path in ("src/new/a.txt", "./src//new/a.txt", "project:///src/new/a.txt", "project:///src/new/%61.txt"):
            read = await place.call("read", path=path)
            assert (read["kind"], read["content"], read["next"], read["total_bytes"]) == ("file", "Grüße\n", None, 8)


@pytest.mark.covers("W17", "K19")
@pytest.mark.parametrize("path", OUTSIDE)
async def test_nothing_outside_the_folder_is_reached(tmp_path: Path, path: str) -> None:
    """S1 stands above the source: agents are contained."""
    (tmp_path / "secret").write_text("no")
    async with shop.opened(tmp_path) as place:
        codes = {"path_outside", "path_invalid", "address_unknown"}
        assert await place.refused("read", path=path) in codes
        assert await place.refused("write", path=path, content="x") in codes
        assert await place.refused("edit", path=path, old_string="n", new_string="y") in codes
    assert (tmp_path / "secret").read_text() == "no"


@pytest.mark.covers("W17", "K19")
async def test_a_link_leads_nowhere(tmp_path: Path) -> None:
    """S3: no link is followed, not in the middle of a path and not at its end."""
    secret = tmp_path / "elsewhere"
    secret.mkdir()
    (secret / "key").write_text("no")
    async with shop.opened(tmp_path) as place:
        (place.folder / "door").symlink_to(secret)
        (place.folder / "key").symlink_to(secret / "key")
        for path in ("door/key", "key"):
            assert await place.refused("read", path=path) in {"path_blocked", "path_not_file"}
            assert await place.refused("edit", path=path, old_string="no", new_string="yes") == "path_blocked"
        assert await place.refused("write", path="door/new", content="x") == "path_blocked"
        assert await place.refused("write", path="key", content="x") == "path_not_file"
    assert [path.name for path in secret.iterdir()] == ["key"]
    assert (secret / "key").read_text() == "no"


@pytest.mark.covers("W17", "K15")
async def test_edits_of_one_file_at_once_lose_nothing(tmp_path: Path) -> None:
    """An edit reads, decides and writes; whoever came in between would be overwritten."""
    many = 24
    async with shop.opened(tmp_path) as place:
        await place.call("write", path="a.txt", content="".join(f"line {n}\n" for n in range(many)))
        async with anyio.create_task_group() as group:
            for number in range(many):
                given = {"path": "a.txt", "old_string": f"line {number}\n", "new_string": f"done {number}\n"}
                group.start_soon(partial(place.call, "edit", **given))
        assert (place.folder / "a.txt").read_text() == "".join(f"done {n}\n" for n in range(many))


@pytest.mark.covers("W17", "W20")
async def test_files_are_written_beside_the_loop(tmp_path: Path) -> None:
    """A disk that takes its time must not keep pages waiting: a change waits for its turn, a read does not."""
    async with shop.opened(tmp_path) as place:
        effects = place.bench.effects
        held, go_on = threading.Event(), threading.Event()

        def hold() -> None:
            held.set()
            assert go_on.wait(5)

        async with anyio.create_task_group() as group:
            group.start_soon(partial(effects.work, hold, alone=str(place.folder)))
            with anyio.fail_after(5):
                while not held.is_set():
                    await anyio.lowlevel.checkpoint()
            group.start_soon(partial(place.call, "write", path="b.txt", content="late"))
            assert (await place.call("read", path="."))["kind"] == "folder"
            assert not (place.folder / "b.txt").exists()
            go_on.set()
        assert (place.folder / "b.txt").read_text() == "late"


@pytest.mark.covers("W17")
@pytest.mark.parametrize(
    "path",
    [
        ".workstead/workstead.yaml",
        "project:///.workstead/work/x",
        "./.workstead/x",
        ".WORKSTEAD/x",
        "work:///x",
        ".workstead/work/cards/project/tmp/x",
    ],
)
async def test_workstead_s_own_folder_is_not_written(tmp_path: Path, path: str) -> None:
    """Facts 2.6, write gate: only `tmp:///` opens it."""
    async with shop.opened(tmp_path) as place:
        before = (place.folder / ".workstead/workstead.yaml").read_bytes()
        assert await place.refused("write", path=path, content="x") == "path_protected"
        assert await place.refused("edit", path=path, old_string="format", new_string="x") == "path_protected"
        assert (place.folder / ".workstead/workstead.yaml").read_bytes() == before


@pytest.mark.covers("W17")
async def test_a_card_has_scratch_files_of_its_own(tmp_path: Path) -> None:
    """Facts 6.6: `tmp:///` is written and read, `work:///` shows it."""
    async with shop.opened(tmp_path) as place:
        wrote = await place.call("write", path="tmp:///a/note.txt", content="one two")
        assert (wrote["destination_kind"], wrote["target"]) == ("tmp", "tmp:///a/note.txt")
        await place.call("edit", path="tmp:///a/note.txt", old_string="two", new_string="three")
        assert (await place.call("read", path="tmp:///a/note.txt"))["content"] == "one three"
        shown = await place.call("read", path="work:///cards/project/tmp/a/note.txt")
        assert shown["content"] == "one three"
        assert await place.refused("write", path="tmp:///", content="x") == "path_not_file"
        assert await place.refused("write", path="tmp:///../../x", content="x") == "path_outside"


@pytest.mark.covers("W17")
async def test_what_is_no_text_is_named_and_not_guessed(tmp_path: Path) -> None:
    """What was read with replacements must not be written back."""
    async with shop.opened(tmp_path) as place:
        (place.folder / "latin").write_bytes(b"caf\xe9")
        (place.folder / "binary").write_bytes(b"a\0b")
        for path in ("latin", "binary"):
            assert await place.refused("read", path=path) == "file_not_text"
            assert await place.refused("edit", path=path, old_string="a", new_string="b") == "file_not_text"
        assert (await place.call("read", path="latin", read_mode="text"))["content"] == "caf\ufffd"
        assert (await place.call("read", path="binary", read_mode="text"))["content"] == "a\ufffdb"


@pytest.mark.covers("W17")
async def test_sizes_have_limits(tmp_path: Path) -> None:
    """A file is read whole to hide secrets in it, so its size is bounded."""
    async with shop.opened(tmp_path) as place:
        with (place.folder / "big").open("wb") as file:
            file.truncate(5 << 20)
        assert await place.refused("read", path="big") == "file_too_large"
        assert await place.refused("write", path="new", content="x" * (1 << 20) + "y") == "file_too_large"
        assert not (place.folder / "new").exists()
        facts = await place.call("read", path="big", metadata_only=True)
        assert (facts["kind"], facts["size_bytes"]) == ("file", 5 << 20)


@pytest.mark.covers("W17", "K10")
async def test_a_folder_is_read_as_its_entries(tmp_path: Path) -> None:
    """Facts 2.6: a collection page."""
    async with shop.opened(tmp_path) as place:
        for number in range(40):
            (place.folder / f"f{number:02}").write_text("x")
        seen: list[str] = []
        position = None
        while True:
            page = await place.call("read", path=".", position=position, response_bytes=1024)
            seen += [entry["name"] for entry in page["entries"]["items"]]
            position = page["entries"]["next"]
            if position is None:
                break
        assert seen == sorted(path.name for path in place.folder.iterdir())
        facts = await place.call("read", path=".", metadata_only=True)
        assert (facts["kind"], facts["entries"]) == ("folder", len(seen))


@pytest.mark.covers("K10")
@pytest.mark.parametrize("text", ["line\n" * 4000, '"\\\x01' * 3000, "ä€😀" * 3000, "x" * 70_000])
@pytest.mark.parametrize("response_bytes", [512, 700, 32_768])
async def test_a_long_text_comes_whole_in_pages_that_fit(tmp_path: Path, text: str, response_bytes: int) -> None:
    """Facts 2.3: `response_bytes` bounds the whole envelope; characters stay whole."""
    async with shop.opened(tmp_path) as place:
        (place.folder / "long").write_bytes(text.encode())
        parts: list[str] = []
        position: Any = None
        while True:
            acted = await place.act("read", path="long", position=position, response_bytes=response_bytes)
            assert len(canonical.dump(acted.result.body())) <= response_bytes
            data: Any = acted.result.data
            assert data["offset_bytes"] == len("".join(parts).encode())
            assert data["utf8_bytes"] == len(data["content"].encode())
            parts.append(data["content"])
            position = data["next"]
            if position is None:
                break
        assert "".join(parts) == text


@pytest.mark.covers("K09", "W17")
async def test_secrets_of_the_installation_are_hidden_and_others_can_be_edited(tmp_path: Path) -> None:
    """S21, third kind: code that says `token = read_token()` can be read and edited."""
    async with shop.opened(tmp_path) as place:
        text = f'token = read_token()\nkey = "{SECRET}"\n'
        await place.call("write", path="code.py", content="token = read_token()\n")
        assert (await place.call("read", path="code.py"))["content"] == "token = read_token()\n"
        (place.folder / "code.py").write_text(text)
        read = await place.call("read", path="code.py")
        assert SECRET not in read["content"]
        assert read["redacted"] is True
        assert await place.refused("write", path="code.py", content=read["content"]) == "placeholder_in_write"
        await place.call("edit", path="code.py", old_string="read_token()", new_string="other()")
        assert (place.folder / "code.py").read_text() == text.replace("read_token()", "other()")


@pytest.mark.covers("K09", "K10")
async def test_no_page_ends_inside_a_placeholder(tmp_path: Path) -> None:
    """Facts 7: placeholders are indivisible when a text is cut."""
    async with shop.opened(tmp_path) as place:
        for shift in range(40):
            (place.folder / "cut").write_text("x" * (300 + shift) + SECRET + "y" * 400)
            first = await place.call("read", path="cut", response_bytes=512)
            assert first["content"].count("[") == first["content"].count("]")


@pytest.mark.covers("W17")
async def test_an_edit_must_be_exact(tmp_path: Path) -> None:
    """Facts 2.6: exactly one match unless replace_all."""
    async with shop.opened(tmp_path) as place:
        (place.folder / "a").write_text("one one two")
        assert await place.refused("edit", path="a", old_string="one", new_string="1") == "edit_old_ambiguous"
        assert await place.refused("edit", path="a", old_string="six", new_string="6") == "edit_old_missing"
        assert await place.refused("edit", path="b", old_string="six", new_string="6") == "file_not_found"
        await place.call("edit", path="a", old_string="one", new_string="1", replace_all=True)
        assert (place.folder / "a").read_text() == "1 1 two"


PATCH = """\
--- a/old.txt
+++ b/old.txt
@@ -1,2 +1,2 @@
 one
-two
+2
--- /dev/null
+++ b/made/new.txt
@@ -0,0 +1 @@
+new
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone
"""


@pytest.mark.covers("W17")
async def test_a_patch_changes_every_file_or_none(tmp_path: Path) -> None:
    """Facts 2.6: unified diff, project paths only."""
    async with shop.opened(tmp_path) as place:
        (place.folder / "old.txt").write_text("one\nTWO\n")
        (place.folder / "gone.txt").write_text("gone\n")
        assert await place.refused("apply_patch", patch=PATCH) == "patch_mismatch"
        assert not (place.folder / "made").exists()
        assert (place.folder / "gone.txt").exists()
        (place.folder / "old.txt").write_text("one\ntwo\n")
        done = await place.call("apply_patch", patch=PATCH)
        assert [(one["path"], one["change"]) for one in done["files"]] == [
            ("old.txt", "changed"),
            ("made/new.txt", "created"),
            ("gone.txt", "deleted"),
        ]
        assert (place.folder / "old.txt").read_text() == "one\n2\n"
        assert (place.folder / "made/new.txt").read_text() == "new\n"
        assert not (place.folder / "gone.txt").exists()


@pytest.mark.covers("W17")
async def test_what_a_patch_could_not_finish_is_put_back(tmp_path: Path) -> None:
    """A patch that was half applied is worse than none."""
    async with shop.opened(tmp_path) as place:
        (place.folder / "old.txt").write_text("one\ntwo\n")
        (place.folder / "gone.txt").write_text("gone\n")
        (place.folder / "made").write_text("a file where the patch wants a folder")
        assert await place.refused("apply_patch", patch=PATCH) == "path_blocked"
        assert (place.folder / "old.txt").read_text() == "one\ntwo\n"
        assert (place.folder / "gone.txt").read_text() == "gone\n"


@pytest.mark.covers("W17", "K19")
@pytest.mark.parametrize(
    ("path", "code"),
    [
        (".workstead/x", "path_protected"),
        ("../x", "patch_path_invalid"),
        ("tmp:///x", "patch_path_invalid"),
        ("/etc/x", "patch_path_invalid"),
    ],
)
async def test_a_patch_stays_in_the_project(tmp_path: Path, path: str, code: str) -> None:
    """Facts 2.6."""
    async with shop.opened(tmp_path) as place:
        patch = f"--- /dev/null\n+++ {path}\n@@ -0,0 +1 @@\n+new\n"
        assert await place.refused("apply_patch", patch=patch) == code


@pytest.mark.covers("W17")
async def test_a_record_is_written_by_its_address_in_one_commit_with_the_result(tmp_path: Path) -> None:
    """Architecture: a tool that is an operation settles its call in the same transaction."""
    async with shop.opened(tmp_path) as place:
        acted = await place.act("write", path="record:///status.md?card=project", content="All well.")
        assert acted.committed
        assert place.settled == [acted.result]
        data: Any = acted.result.data
        assert (data["name"], data["card_id"]) == ("status.md", "project")


@pytest.mark.covers("W17")
async def test_a_record_without_a_card_is_the_card_s_own_and_an_accepted_text_stays(tmp_path: Path) -> None:
    """First-hour decisions write `record:///status.md`; facts 6.6: `&v=` is read only."""
    async with shop.opened(tmp_path) as place:
        await place.call("write", path="record:///status.md", content="All well.")
        edit = {"old_string": "well", "new_string": "good"}
        fixed = "record:///status.md?card=project&v=1"
        assert await place.refused("edit", path=fixed, **edit) == "record_version_fixed"
        assert await place.refused("write", path=fixed, content="x") == "record_version_fixed"
        assert await place.refused("write", path="record:///brief.md", content="x") == "record_not_writable"
        malformed = (
            "record:///status.md?card=project&v=01",
            "record:///status.md?v=1",
            "record:///a/b.md",
            "record://x",
        )
        for address in malformed:
            assert await place.refused("write", path=address, content="x") == "address_malformed"


@pytest.mark.covers("W17", "K10", "K09")
async def test_a_long_record_is_read_in_pages_and_hides_secrets(tmp_path: Path) -> None:
    """Facts 2.6; a secret is hidden wherever the stretches of the operation part it."""
    async with shop.opened(tmp_path) as place:
        text = "".join(f"line {number} {SECRET}\n" for number in range(3000))
        await place.call("write", path="record:///status.md", content=text)
        parts: list[str] = []
        position: Any = None
        while True:
            page = await place.call("read", path="record:///status.md?card=project", position=position)
            parts.append(page["content"])
            assert (page["kind"], page["source"], page["redacted"]) == ("record", "draft", True)
            position = page["next"]
            if position is None:
                break
        assert "".join(parts) == text.replace(SECRET, "[redacted:instance-secret]")
        small = await place.act("read", path="record:///status.md", response_bytes=512)
        assert len(canonical.dump(small.result.body())) <= 512
        facts = await place.call("read", path="record:///status.md", metadata_only=True)
        assert facts["size_bytes"] == len(text)


@pytest.mark.covers("W17")
async def test_an_accepted_text_is_read_by_its_number(tmp_path: Path) -> None:
    """Facts 6.6: `&v=N`."""
    async with shop.opened(tmp_path) as place:
        read = await place.call("read", path="record:///brief.md?card=project&v=1")
        assert (read["content"], read["version"]) == ("A shed that stands.", 1)
        assert await place.refused("read", path="record:///brief.md?card=project&v=2") == "version_not_found"
        assert await place.refused("read", path="record:///review.md") == "record_not_found"
