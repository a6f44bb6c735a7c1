"""Projects: binding a folder, what is listed to whom, trusting a configuration (K03, S2, S3)."""

from pathlib import Path
from typing import Any

import pytest

from support import instance
from work import checks, folder, office
from work.test_card_operations import code_of
from workstead import errors
from workstead.accounts.roles import Role
from workstead.kernel.access import AnonymousProof, Permission
from workstead.kernel.operations import Door
from workstead.work import configurations, template

pytestmark = pytest.mark.both_databases

COVERS_MODULES = ("work/configurations.py",)

NEW: dict[str, Any] = {"name": "Tool shed", "title": "Build", "objective": "A shed that stands."}
OUTSIDE = "  practice: {kind: practice, models: [practice]}"
REAL = "  practice: {kind: openai-chat, models: [practice], base_url: https://example.org/v1, key: secret:example}"


async def bind(shed: office.Office, place: Path, **fields: Any) -> Any:
    """Make a project of a folder."""
    raw = {"folder": str(place)} | NEW | fields
    return await shed.instance.operations.run(shed.founded.operator.proof, "create_project", raw, door=Door.CLI)


@pytest.mark.covers("W04")
async def test_an_empty_folder_gets_the_template_and_may_be_run(tmp_path: Path) -> None:
    """Our decision: the product's own template leaves nothing to accept."""
    place = tmp_path / "empty"
    place.mkdir()
    async with office.open_office(tmp_path) as shed:
        made = await bind(shed, place)
        brief = await shed.run("read_record", project=made.slug, card_id="project", name="brief.md")
        seen = await shed.run("get_project", project=made.id)
        card = await shed.run("get_card", project=made.slug, card_id="project")
        assert checks.check(shed.founded.path) == []
    assert (made.slug, made.folder, made.trusted) == ("tool-shed", str(place), True)
    assert (brief.content, brief.accepted) == ("A shed that stands.", 1)
    assert (seen.counts, seen.owner, seen.trusted_digest) == ({"backlog": 1}, "Ada", made.digest)
    assert (card.type, card.created_by.kind, card.created_by.name) == ("project", "person", "Ada")
    for path, content in template.materialise().items():
        assert (place / ".workstead" / path).read_bytes() == content


@pytest.mark.covers("K03")
async def test_folders_that_cannot_be_projects_are_refused_by_their_reason(tmp_path: Path) -> None:
    """S3: each reason has its code; nothing is written into such a folder."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "shed" / "inner").mkdir(parents=True)
    office.write_folder(tmp_path / "shed")
    (tmp_path / "link").symlink_to(tmp_path / "shed")
    async with office.open_office(tmp_path) as shed:
        codes = {}
        for place in ("/", "/etc", "relative", "/a\0b", f"/{'x' * 300}"):
            codes[place[:8]] = await _refused(shed, Path(place))
        for name in ("file", "none", "data", "shed", "shed/inner", "link", "."):
            codes[name] = await _refused(shed, tmp_path / name)
    assert codes == {
        "/": "folder_root",
        "/etc": "folder_system",
        "relative": "folder_relative",
        "/a\0b": "folder_missing",
        "/xxxxxxx": "folder_missing",
        "file": "folder_not_directory",
        "none": "folder_missing",
        "data": "folder_data",
        "shed": "folder_overlaps",
        "shed/inner": "folder_overlaps",
        "link": "folder_overlaps",
        ".": "folder_data",
    }
    assert not (tmp_path / "shed" / "inner" / ".workstead").exists()


async def _refused(shed: office.Office, place: Path) -> str:
    with pytest.raises(errors.Refusal) as refusal:
        await bind(shed, place)
    return refusal.value.code


@pytest.mark.covers("K05")
async def test_a_short_name_is_unique_and_made_from_the_name(tmp_path: Path) -> None:
    """A wished one that is taken is refused; a made one is numbered."""
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
    async with office.open_office(tmp_path) as shed:
        assert (await bind(shed, tmp_path / "one", name="Shed")).slug == "shed-2"
        assert (await bind(shed, tmp_path / "two", name="Üben & Lernen!")).slug == "uben-lernen"
        codes = {}
        for slug in ("shed", "No", "-a"):
            with pytest.raises(errors.Refusal) as refusal:
                await bind(shed, tmp_path / "three", slug=slug)
            codes[slug] = refusal.value.code
        assert (await bind(shed, tmp_path / "three", name="日本", request_id="r")).slug == "project"
        assert (await bind(shed, tmp_path / "three", name="日本", request_id="r")).slug == "project"
        assert checks.check(shed.founded.path) == []
    assert codes == {"shed": "slug_taken", "No": "slug_invalid", "-a": "slug_invalid"}


@pytest.mark.covers("K03", "K06")
async def test_only_an_operator_binds_folders_and_strangers_see_no_project(tmp_path: Path) -> None:
    """S7: folder binding is the operator's; a list shows what its reader may see, and nothing to nobody."""
    async with office.open_office(tmp_path) as shed:
        run = shed.instance.operations.run
        owner = office.joined(shed, name="Olga", role=Role.OWNER)
        stranger = office.joined(shed, name="Eve")
        with pytest.raises(errors.Refusal) as refusal:
            await run(owner.proof, "create_project", {"folder": str(tmp_path)} | NEW, door=Door.REST)
        assert refusal.value.details["missing"] == [Permission.PROJECT_BIND]
        seen = await run(owner.proof, "list_projects", {}, door=Door.MCP)
        assert [(one.slug, one.title, one.counts) for one in seen.projects] == [
            ("shed", "Build a shed", {"backlog": 1})
        ]
        assert (await run(stranger.proof, "list_projects", {}, door=Door.MCP)).projects == ()
        with pytest.raises(errors.Refusal, match="Sign in"):
            await run(AnonymousProof(), "list_projects", {}, door=Door.PAGE)
        with pytest.raises(errors.Refusal) as refusal:
            await run(owner.proof, "create_project", {"folder": str(tmp_path)} | NEW, door=Door.MCP)
        assert refusal.value.code == "operation_not_found"


async def test_a_folders_own_configuration_waits_for_a_person(tmp_path: Path) -> None:
    """S2: what is asked for is listed; until it is accepted nothing follows it."""
    office.write_folder(tmp_path / "shed", source=folder.changed(OUTSIDE, REAL))
    async with office.open_office(tmp_path) as shed:
        view = await shed.run("get_configuration")
        assert (view.trusted, view.compiles, view.issues) == (False, True, ())
        assert any("https://example.org/v1" in line for line in view.needs_trust)
        assert await code_of(shed, "create_card", parent="project", type="task", title="T", bootstrap_content="x") == (
            "configuration_untrusted"
        )
        assert await code_of(shed, "trust_configuration", digest="0" * 64) == "configuration_stale"
        editor = office.joined(shed, name="Ed", role=Role.EDITOR)
        with pytest.raises(errors.Refusal) as refusal:
            await shed.run("trust_configuration", proof=editor.proof, digest=view.digest)
        assert refusal.value.details["missing"] == [Permission.PROJECT_TRUST]
        await shed.run("trust_configuration", digest=view.digest)
        assert (await shed.run("get_configuration")).trusted
        assert await shed.card() == "card-a"


async def test_a_changed_folder_is_not_what_was_trusted(tmp_path: Path) -> None:
    """S2: trust is of a digest; people's changes go on with the one accepted last, from its stored sources."""
    async with office.open_office(tmp_path) as shed:
        before = await shed.run("get_configuration")
        office.write_folder(shed.folder, source=folder.YAML + "\n")
        after = await shed.run("get_configuration")
        assert (before.trusted, after.trusted, before.digest == after.digest) == (True, False, False)
        assert await code_of(shed, "trust_configuration", digest=before.digest) == "configuration_stale"
        assert await shed.card() == "card-a"
        await shed.run("trust_configuration", digest=after.digest)
        office.write_folder(shed.folder)
        await shed.run("trust_configuration", digest=before.digest)
        with instance.transaction(shed.founded.path) as tx:
            assert configurations.newest_trusted(tx, shed.project_id_in(tx)) == before.digest


async def test_a_broken_configuration_is_shown_and_cannot_be_trusted(tmp_path: Path) -> None:
    """W09's face: every mistake with its line; a folder without one says what to run."""
    async with office.open_office(tmp_path) as shed:
        office.write_folder(shed.folder, source=folder.YAML.replace("format: 1", "format: 9"))
        view = await shed.run("get_configuration")
        assert (view.compiles, view.trusted) == (False, False)
        assert [issue.path for issue in view.issues] != []
        assert await code_of(shed, "trust_configuration", digest=view.digest) == "configuration_invalid"
        (shed.folder / ".workstead" / "workstead.yaml").unlink()
        with pytest.raises(errors.Refusal, match="workstead init"):
            await shed.run("get_configuration")
        assert await shed.card() == "card-a"


async def test_what_was_kept_compiles_again_in_another_process(tmp_path: Path) -> None:
    """A run is pinned by a digest: after a restart its sources alone must do."""
    async with office.open_office(tmp_path) as shed:
        view = await shed.run("get_configuration")
        configurations.forget()
        with instance.transaction(shed.founded.path) as tx:
            again = configurations.load(tx, view.digest)
            assert again == folder.compiled().configuration
            assert configurations.load(tx, view.digest) is again
            with pytest.raises(errors.Refusal, match="no configuration"):
                configurations.load(tx, "f" * 64)
