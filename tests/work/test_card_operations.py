"""Writes of cards through the one write path: exact refusals, agents' bounds, replays (W02, W11, K04, K05)."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from support import instance
from work import checks, folder, office
from workstead import errors
from workstead.accounts import projects, roles
from workstead.accounts.roles import Role
from workstead.kernel.access import Permission
from workstead.kernel.operations import Door
from workstead.work import cards, notifications
from workstead.work.workflow.lifecycle import Status

pytestmark = pytest.mark.both_databases


async def code_of(shed: office.Office, name: str, /, **fields: Any) -> str:
    """The code with which an operation is refused."""
    with pytest.raises(errors.Refusal) as refusal:
        await shed.run(name, **fields)
    return refusal.value.code


NEW: dict[str, Any] = {"type": "task", "title": "Saw boards", "bootstrap_content": "Six of them."}


@pytest.mark.covers("W02", "W04")
async def test_a_new_card_waits_with_its_brief_accepted(tmp_path: Path) -> None:
    """W02, W04: backlog, brief as accepted version 1, linked by a version of its parent."""
    async with office.open_office(tmp_path) as shed:
        made = await shed.run("create_card", parent="project", **NEW)
        brief = await shed.run("read_record", card_id="card-a", name="brief.md")
        parent = await shed.run("list_card_versions", card_id="project")
    assert (made.card_id, made.type, made.status, made.revision) == ("card-a", "task", Status.BACKLOG, 1)
    assert (brief.content, brief.source, brief.accepted) == ("Six of them.", "accepted", 1)
    assert [(one.change, one.changed) for one in parent.versions] == [("child_link", ("children",)), ("create", ())]


@pytest.mark.covers("W02")
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"parent": None}, "parent_missing"),
        ({"parent": "card-q"}, "card_not_found"),
        ({"parent": "Card A"}, "card_id_malformed"),
        ({"parent": "card" + "-a" * 13}, "card_id_malformed"),
        ({"type": "poem"}, "card_type_unknown"),
        ({"type": "project"}, "child_type_not_permitted"),
        ({"depends_on": ["card-q"]}, "dependency_unknown"),
        ({"depends_on": ["nobody"]}, "dependency_unknown"),
        ({"depends_on": ["project"]}, "dependency_on_ancestor"),
        ({"title": ""}, "input_invalid"),
        ({"title": "  "}, "input_invalid"),
        ({"title": "two\nlines"}, "input_invalid"),
        ({"title": "a\0b"}, "input_invalid"),
        ({"title": "\ud800"}, "input_invalid"),
        ({"title": "x" * 201}, "input_invalid"),
        ({"bootstrap_content": " \n"}, "record_empty"),
        ({"bootstrap_content": "a\0b"}, "record_not_text"),
        ({"bootstrap_content": "\udfff"}, "input_invalid"),
        ({"bootstrap_content": "x" * (2 << 20)}, "record_too_large"),
        ({"priority": 101}, "input_invalid"),
        ({"priority": 2**70}, "input_invalid"),
        ({"priority": "1"}, "input_invalid"),
        ({"urgency": "soon"}, "input_invalid"),
        ({"depends_on": ["card-a"] * 101}, "input_invalid"),
        ({"nonsense": 1}, "input_invalid"),
        ({"project": "garden-of-others"}, "project_not_found"),
    ],
)
async def test_a_bad_new_card_is_refused_and_leaves_nothing(tmp_path: Path, fields: dict[str, Any], code: str) -> None:
    """W02: each mistake has its code; no segment is used up by it."""
    async with office.open_office(tmp_path) as shed:
        assert await code_of(shed, "create_card", **({"parent": "project"} | NEW | fields)) == code
        assert await shed.card() == "card-a"
        assert checks.check(shed.founded.path) == []


@pytest.mark.covers("W02")
async def test_the_thirteenth_level_is_refused(tmp_path: Path) -> None:
    """W02: depth 12 is the deepest; and it takes leaf types only."""
    place = tmp_path / "shed"
    source = folder.changed("permitted_child_types: []", "permitted_child_types: [task, leaf]")
    leaf = source[source.index("  task:") :].replace("  task:", "  leaf:").replace("[task, leaf]", "[]")
    office.write_folder(place, source=source + leaf)
    async with office.open_office(tmp_path) as shed:
        above = "project"
        for _ in range(11):
            above = await shed.card(parent=above)
        assert await code_of(shed, "create_card", parent=above, **NEW) == "child_type_not_leaf"
        deepest = await shed.run("create_card", parent=above, **(NEW | {"type": "leaf"}))
        assert deepest.card_id == "card" + "-a" * 12
        assert await code_of(shed, "create_card", parent=deepest.card_id, **NEW) == "card_depth_exceeded"
        tree = await shed.run("get_tree", depth=12)
    assert len(tree.cards) == 13


@pytest.mark.covers("W11")
async def test_an_agent_acts_under_its_own_card_only(tmp_path: Path) -> None:
    """W11: the Planner's column: own children, types of its step, siblings as dependencies."""
    async with office.open_office(tmp_path) as shed:
        shed.walk("project", Status.RUNNING)
        planner = shed.agent("project")
        made = await shed.run("create_card", proof=planner, door=Door.AGENT, **NEW)
        assert made.card_id == "card-a"
        worker = shed.agent("card-a")
        refused: dict[str, dict[str, Any]] = {
            "own": {"name": "create_card", "parent": "project", **NEW},
            "type": {"name": "create_card", **NEW},
            "edit": {"name": "edit_card", "card_id": "card-a", "title": "Mine"},
            "delete": {"name": "delete_card", "ids": ["card-a"]},
        }
        codes = {
            key: await code_of(shed, str(call.pop("name")), proof=worker, door=Door.AGENT, **call)
            for key, call in refused.items()
        }
        assert codes == {
            "own": "not_your_card",
            "type": "child_type_not_permitted",
            "edit": "card_not_child",
            "delete": "delete_not_for_agents",
        }
        judge = shed.agent("project", name="judge")
        assert await code_of(shed, "create_card", proof=judge, door=Door.AGENT, **NEW) == "child_type_not_creatable"


@pytest.mark.covers("W11")
async def test_what_an_agent_does_reaches_nobody_above(tmp_path: Path) -> None:
    """W11: a Planner's reopening is one version of the child, and no notice."""
    async with office.open_office(tmp_path) as shed:
        await shed.card()
        shed.walk("project", Status.RUNNING)
        shed.walk("card-a", Status.RUNNING, Status.DONE)
        before = await shed.run("get_card", card_id="project")
        done = await shed.run("reopen_card", proof=shed.agent("project"), door=Door.AGENT, card_id="card-a")
        after = await shed.run("get_card", card_id="project")
        card = await shed.run("get_card", card_id="card-a")
        with instance.transaction(shed.founded.path) as tx:
            assert notifications.pending(tx, shed.project_id_in(tx), "card-a") == ()
    assert (done.status, before.revision) == (Status.CHANGED, after.revision)
    assert (card.result, card.error, card.completed_at) == (None, None, None)


@pytest.mark.covers("K04")
async def test_a_change_decided_on_an_old_revision_is_refused(tmp_path: Path) -> None:
    """K04: stale, naming what is current."""
    async with office.open_office(tmp_path) as shed:
        await shed.card()
        await shed.run("edit_card", card_id="card-a", title="Other", base_revision=1)
        with pytest.raises(errors.Refusal) as refusal:
            await shed.run("edit_card", card_id="card-a", title="Third", base_revision=1)
    assert refusal.value.code == "card_stale"
    assert refusal.value.details == {"base_revision": 1, "current_revision": 2}


@pytest.mark.covers("W03")
async def test_an_equal_edit_writes_nothing(tmp_path: Path) -> None:
    """W03: no version, no reopening."""
    async with office.open_office(tmp_path) as shed:
        await shed.card("Same")
        shed.walk("card-a", Status.RUNNING, Status.FAILED)
        before = await shed.run("get_card", card_id="card-a")
        answer = await shed.run("edit_card", card_id="card-a", title="Same", priority=0)
        assert await code_of(shed, "edit_card", card_id="card-a") == "edit_empty"
    assert (answer.changed, answer.revision, answer.status) == (False, before.revision, Status.FAILED)


@pytest.mark.covers("K05")
async def test_a_repeated_request_makes_one_card(tmp_path: Path) -> None:
    """K05: the first answer again; another input under the same key is refused."""
    async with office.open_office(tmp_path) as shed:
        first = await shed.run("create_card", parent="project", request_id="r1", **NEW)
        again = await shed.run("create_card", parent="project", request_id="r1", **NEW)
        other = NEW | {"title": "Another"}
        assert await code_of(shed, "create_card", parent="project", request_id="r1", **other) == "request_id_reused"
        assert len((await shed.run("list_cards")).cards) == 2
    assert first == again


@pytest.mark.covers("K03", "K06")
async def test_a_viewer_reads_and_does_not_write(tmp_path: Path) -> None:
    """K03: roles; a stranger sees no project at all."""
    async with office.open_office(tmp_path) as shed:
        viewer = office.joined(shed, name="Vic", role=Role.VIEWER)
        stranger = office.joined(shed, name="Eve")
        assert (await shed.run("get_card", proof=viewer.proof, card_id="project")).title == "Build a shed"
        with pytest.raises(errors.Refusal) as refusal:
            await shed.run("create_card", proof=viewer.proof, parent="project", **NEW)
        assert refusal.value.details["missing"] == [Permission.PROJECTS_WRITE]
        hidden = await code_of(shed, "get_card", proof=stranger.proof, card_id="project")
        absent = await code_of(shed, "get_card", proof=stranger.proof, card_id="project", project="nowhere")
    assert hidden == absent == "permission_missing"


@pytest.mark.covers("W11")
async def test_a_running_card_is_not_cancelled(tmp_path: Path) -> None:
    """W11: a branch that rests is cancelled deepest first; what waits on it is dropped."""
    async with office.open_office(tmp_path) as shed:
        await shed.card()
        shed.walk("card-a", Status.RUNNING)
        assert await code_of(shed, "cancel_card", card_id="card-a") == "card_running"
        assert await code_of(shed, "cancel_card", card_id="project") == "card_is_root"
        shed.walk("card-a", Status.STOPPED)
        await shed.run("edit_card", card_id="card-a", title="Told")
        gone = await shed.run("cancel_card", card_id="card-a", reason="No longer wanted")
        card = await shed.run("get_card", card_id="card-a")
        assert checks.check(shed.founded.path) == []
    assert (gone.status, gone.cancelled) == (Status.CANCELLED, 1)
    assert card.status_text == "No longer wanted"


@pytest.mark.covers("W02", "W03")
async def test_a_deleted_card_is_gone_and_its_history_stays(tmp_path: Path) -> None:
    """W02: tombstones; a segment is never given out again."""
    async with office.open_office(tmp_path) as shed:
        await shed.card()
        await shed.card(depends_on=["card-a"])
        assert await code_of(shed, "delete_card", ids=["card-a"]) == "card_depended_on"
        assert (await shed.run("delete_card", ids=["card-b", "card-a", "card-a"])).deleted == 2
        assert await code_of(shed, "get_card", card_id="card-a") == "card_not_found"
        assert await code_of(shed, "write_record", card_id="card-a", name="status.md", content="x") == "card_not_found"
        last = await shed.run("list_card_versions", card_id="card-a")
        text = await shed.run("read_record_version", card_id="card-a", name="brief.md", version=1)
        assert await shed.card() == "card-c"
        assert [one.card_id for one in (await shed.run("list_cards", parent="project")).cards] == ["card-c"]
    assert [one.change for one in last.versions] == ["delete", "create"]
    assert text.content == "Do it."


@pytest.mark.covers("K20", "W02")
async def test_deleting_for_good_is_the_owners(tmp_path: Path) -> None:
    """S7: an editor gives a card up; only an owner, or whom they gave `projects:delete`, takes it away."""
    async with office.open_office(tmp_path) as shed:
        await shed.card()
        with instance.transaction(shed.founded.path) as tx:
            project = projects.find(tx, "shed")
        assert project is not None
        here = dataclasses.replace(shed.founded, project=project)
        editor = instance.joined(here, name="Bo", role=Role.EDITOR)
        owner = instance.joined(here, name="Cy", role=Role.OWNER)
        assert await code_of(shed, "delete_card", proof=editor.proof, ids=["card-a"]) == "permission_missing"
        assert (await shed.run("delete_card", proof=owner.proof, ids=["card-a"])).deleted == 1
    assert Permission.PROJECTS_DELETE not in roles.PERMISSIONS[Role.EDITOR]


@pytest.mark.covers("W02")
async def test_children_are_reordered_by_a_whole_permutation(tmp_path: Path) -> None:
    """W02: the parent's version alone; the same order again writes nothing."""
    async with office.open_office(tmp_path) as shed:
        for _ in range(3):
            await shed.card()
        await shed.run("delete_card", ids=["card-b"])
        order = ["card-c", "card-a"]
        for wrong in ([], ["card-c"], [*order, "card-b"], ["card-a", "card-a"]):
            code = await code_of(shed, "reorder_child", parent="project", ordered_child_ids=wrong)
            assert code == "order_not_permutation"
        first = await shed.run("reorder_child", parent="project", ordered_child_ids=order)
        again = await shed.run("reorder_child", parent="project", ordered_child_ids=order)
        version = await shed.run("get_card_version", card_id="project", version=first.revision, section="children")
        assert checks.check(shed.founded.path) == []
    assert (first.changed, again.changed, again.revision) == (2, 0, first.revision)
    assert version.card_ids == ("card-c", "card-a", "card-b")


@pytest.mark.covers("W11")
async def test_people_wait_while_a_run_is_going(tmp_path: Path) -> None:
    """W11: a person changes the tree while the project rests or is paused; cancelling is for any time."""
    async with office.open_office(tmp_path, resting=False) as shed:
        with instance.transaction(shed.founded.path) as tx:
            project = projects.find(tx, "shed")
            assert project is not None
            root = cards.find(tx, project, "project")
            cards.create_child(tx, project, root, cards.NewCard(type="task", title="T"), author=cards.RUNTIME)
        writes: dict[str, dict[str, Any]] = {
            "create_card": {"parent": "project", **NEW},
            "edit_card": {"card_id": "card-a", "title": "x"},
            "reopen_card": {"card_id": "card-a"},
            "delete_card": {"ids": ["card-a"]},
            "reorder_child": {"parent": "project", "ordered_child_ids": ["card-a"]},
            "write_record": {"card_id": "card-a", "name": "status.md", "content": "x"},
        }
        for name, fields in writes.items():
            assert await code_of(shed, name, **fields) == "project_running", name
        assert (await shed.run("cancel_card", card_id="card-a")).cancelled == 1
