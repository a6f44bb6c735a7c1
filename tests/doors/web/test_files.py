"""A project's files on their pages: folders, safe previews, exact pictures; nothing private through any alias (W24)."""

import base64
import hashlib
import os
import re
import urllib.parse
from pathlib import Path

import pytest

from support import door
from support.server import Running
from workstead.doors.web import file_views
from workstead.workspace import files, private

COVERS_MODULES = (
    "doors/web/pages/files.py",
    "doors/web/file_views.py",
    "runs/file_reads.py",
    "workspace/private.py",
)

pytestmark = pytest.mark.covers("W24")

ROOT = "/projects/garden/files"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SECRET = "do-not-show-me"


@pytest.fixture(scope="module")
def folder(live: Running) -> Path:
    """The project's folder with something of every kind in it."""
    made = live.data.parent / "garden"
    (made / "plans").mkdir()
    (made / "plans" / "beds #1?.md").write_text("# Beds\n\n<script>x</script> **Dig** them.\n")
    (made / "plans" / "facts.json").write_text('{"beds": [1, 2.50], "token": "ghp_' + "a1" * 20 + '", "none": {}}')
    (made / "plans" / "bad.json").write_text("{not json")
    (made / "plot.png").write_bytes(PIXEL)
    (made / "fake.png").write_text("<script>alert(1)</script>")
    (made / "seed.bin").write_bytes(b"\0\1\2" * 1000)
    (made / "empty.txt").write_text("")
    (made / "long.txt").write_text("".join(f"line {number} of the long one\n" for number in range(1, 4001)))
    for name in (".env", ".ENV.local", "server.pem", "id_ed25519"):
        (made / name).write_text(SECRET)
    (made / ".git").mkdir()
    (made / ".git" / "config").write_text(SECRET)
    (made / ".env.example").write_text("NAME=value\n")
    (made / "alias").symlink_to(made / ".env")
    (made / "away").symlink_to(live.data)
    (made / ".workstead" / "secret.txt").write_text(SECRET)
    (made / ".workstead" / "work" / "said.txt").write_text("what was printed\n")
    os.mkfifo(made / "pipe")
    return made


@pytest.fixture
def page(browser: Running, folder: Path) -> Running:
    """A signed-in browser on a project with these files."""
    assert folder.is_dir()
    return browser


def test_a_folder_lists_folders_first_and_names_what_it_does_not_show(page: Running) -> None:
    """W24: every name is there; what is private or leads elsewhere cannot be opened."""
    shown = page.get(ROOT).text
    names = re.findall(r'class="file-name"[^>]*>([^<]+)<', shown)
    assert names.index("plans/") < names.index("empty.txt")
    for closed in (".env", "server.pem", "id_ed25519", "alias", "away", "pipe"):
        assert f'<span class="file-name">{closed}</span>' in shown
    assert "private, not shown" in shown
    assert "a link, not followed" in shown


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        ".ENV.local",
        "%2eenv",
        "./.env",
        "plans/..%2f.env",
        "plans%2f..%2f.env",
        "%2e%2e/data/instance.key",
        "server.pem",
        "id_ed25519",
        ".git/config",
        ".git",
        ".GIT/config",
        ".workstead/secret.txt",
        ".Workstead/secret.txt",
        ".workstead",
        "alias",
        "away/instance.key",
        "away",
        "pipe",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "project:%2f%2f%2f.env",
        "work:%2f%2f%2f..%2f..%2f.env",
        "%00",
    ],
)
def test_what_is_private_is_refused_through_every_alias(page: Running, path: str) -> None:
    """W24, S3: names in other letters, encodings, links, climbing, other schemes; on the page and as bytes."""
    for address in (f"{ROOT}/{path}", f"/projects/garden/pictures/{path}", f"{ROOT}/{path}?in=work"):
        answer = page.get(address)
        assert answer.status in {400, 403, 404}, address
        assert SECRET.encode() not in answer.body


def test_markdown_is_rendered_safely_and_its_source_is_one_link_away(page: Running) -> None:
    """W24: a name with signs of an address in it is reached too."""
    address = f"{ROOT}/plans/{urllib.parse.quote('beds #1?.md')}"
    assert address in page.get(f"{ROOT}/plans").text
    rendered = page.get(address).text
    assert "<strong>Dig</strong>" in rendered
    assert "<script>x" not in rendered
    source = page.get(f"{address}?show=source").text
    assert 'id="L3"' in source
    assert "&lt;script&gt;x&lt;/script&gt; **Dig**" in source


def test_json_is_laid_out_with_its_numbers_as_written_and_secrets_hidden(page: Running) -> None:
    """W24, S21: text for reading is redacted; 2.50 stays 2.50."""
    shown = page.get(f"{ROOT}/plans/facts.json?show=rendered").text
    assert "<code>    2.50</code>" in shown
    assert "[redacted:" in shown
    assert "ghp_" not in shown
    assert "<code>{not json</code>" in page.get(f"{ROOT}/plans/bad.json?show=rendered").text


def test_pictures_are_exact_bytes_under_a_policy_in_which_nothing_acts(page: Running) -> None:
    """W24: told by the first bytes; a page that calls itself a picture is shown as text."""
    shown = page.get(f"{ROOT}/plot.png").text
    assert 'src="/projects/garden/pictures/plot.png"' in shown
    answer = page.get("/projects/garden/pictures/plot.png")
    assert answer.body == PIXEL
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert page.get("/projects/garden/pictures/fake.png").status == 400
    assert "&lt;script&gt;alert(1)" in page.get(f"{ROOT}/fake.png").text


def test_what_is_no_text_is_named_by_size_and_digest(page: Running) -> None:
    """W24: binary refused with size and digest; an empty file says so."""
    shown = page.get(f"{ROOT}/seed.bin").text
    assert "This is no text." in shown
    assert hashlib.sha256(b"\0\1\2" * 1000).hexdigest() in shown
    assert "2.9 KiB" in shown
    assert "The file is empty." in page.get(f"{ROOT}/empty.txt").text


def test_a_long_text_is_read_in_stretches_whose_lines_keep_their_numbers(page: Running) -> None:
    """K10: each line once, each under its number."""
    address: str | None = f"{ROOT}/long.txt"
    numbers: list[str] = []
    while address:
        shown = page.get(address).text
        numbers += [f"{n} {t}" for n, t in re.findall(r'id="L(\d+)".*?<code>([^<]*)</code>', shown)]
        further = re.search(r'rel="next" href="([^"]+)"', shown)
        address = further[1] if further else None
    assert numbers == [f"{n} line {n} of the long one" for n in range(1, 4001)]


@pytest.mark.parametrize(
    ("address", "leads"),
    [
        ("plans/beds #1?.md", f"{ROOT}/plans/beds%20%231%3F.md"),
        ("project:///empty.txt", f"{ROOT}/empty.txt"),
        ("work:///said.txt", f"{ROOT}/said.txt?in=work"),
        ("card:///card-a", "/projects/garden/cards/card-a"),
        ("record:///status.md", "/projects/garden/cards/project/records/status.md"),
        ("record:///brief.md?card=card-a&v=2", "/projects/garden/cards/card-a/records/brief.md?version=2"),
    ],
)
def test_an_address_as_agents_write_it_leads_to_its_page(page: Running, address: str, leads: str) -> None:
    """W24: project, work, record and card addresses."""
    answer = page.get(f"{ROOT}?address={urllib.parse.quote(address, safe='')}")
    assert (answer.status, answer.headers["location"]) == (303, leads)


def test_an_address_of_another_kind_is_refused(page: Running) -> None:
    """Nothing outside is opened, and nothing is redirected to."""
    for address in ("https://example.org/x", "file:///etc/passwd", "//example.org/x"):
        answer = page.get(f"{ROOT}?address={urllib.parse.quote(address, safe='')}")
        assert answer.status == 400 or answer.headers["location"].startswith(f"{ROOT}/")


def test_what_commands_printed_is_read_by_its_own_address_only(page: Running) -> None:
    """work:/// reaches it; the folder's path to it does not."""
    assert "what was printed" in page.get(f"{ROOT}/said.txt?in=work").text
    assert "said.txt" in page.get(f"{ROOT}/?in=work").text
    assert page.get(f"{ROOT}/.workstead/work/said.txt").status == 403


def test_a_file_that_an_agent_changed_is_one_link_from_its_conversation(finished: Running) -> None:
    """It is seen, item 1: from what was done to what is there now."""
    said = finished.get("/projects/ledger/cards/card-a/conversations/executor").text
    links = re.findall(r'href="(/projects/ledger/files\?address=[^"]+)"', said)
    assert links
    for link in links:
        answer = finished.get(link)
        assert answer.status == 303
        assert finished.get(answer.headers["location"]).status == 200


@pytest.mark.covers("D02", "K06")
def test_an_assistant_reads_files_with_its_permission_and_not_without(live: Running, folder: Path) -> None:
    """S6: workspace:read; the same refusals at every door."""
    assert folder.is_dir()
    reader = door.token_of(live, "file reader", "projects:read", "workspace:read", projects=["garden"])
    found = door.call(live, reader, "read_file", project="garden", path="plans/facts.json")["structuredContent"]
    assert (found["kind"], found["line"], found["next_offset"]) == ("json", 1, None)
    names = door.call(live, reader, "list_files", project="garden")["structuredContent"]["entries"]
    assert {"name": ".env", "private": True}.items() <= next(one for one in names if one["name"] == ".env").items()
    assert door.call(live, reader, "read_file", project="garden", path=".env")["isError"]
    assert door.call(live, reader, "read_file", project="garden", path="record:///status.md")["isError"]
    without = door.token_of(live, "file stranger", "projects:read", projects=["garden"])
    assert door.call(live, without, "read_file", project="garden", path="empty.txt")["isError"]


@pytest.mark.parametrize(
    ("path", "hidden"),
    [
        (".env", True),
        (".env.production", True),
        ("prod.env", True),
        ("\uff0eenv", True),
        (".e\u200bnv", True),
        (".env.", True),
        ("a/.ssh/known_hosts", True),
        ("keys/site.KEY", True),
        (".env.example", False),
        ("id_rsa.pub", False),
        ("environment.py", False),
        ("keyboard.md", False),
        ("src/tokens.css", False),
    ],
)
def test_private_names(path: str, hidden: bool) -> None:
    """What could be the same name on some file system is treated as it; ordinary names stay open."""
    assert private.is_private(files.components(path)) is hidden


def test_json_that_is_none_is_not_laid_out() -> None:
    """The source is what stands there."""
    assert file_views.formatted("[1, NaN]") is None
    assert file_views.formatted("[" * 100_000) is None
    assert file_views.formatted('{"a": [], "b": {"c": null}}') == '{\n  "a": [],\n  "b": {\n    "c": null\n  }\n}'
