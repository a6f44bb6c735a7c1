"""Projects and who sees them (K03)."""

from pathlib import Path

import pytest

from support import instance, invariants
from support.database import statement
from workstead import errors
from workstead.accounts import projects
from workstead.accounts.roles import Role
from workstead.kernel import feed, scopes
from workstead.kernel.access import Agent, Anonymous, Caller, Person, System

pytestmark = pytest.mark.both_databases

FEED = statement("SELECT event, topic FROM feed WHERE scope = 'instance' ORDER BY seq")


def person(member: instance.Member) -> Person:
    return Person(
        id=member.person.id, name=member.person.name, operator=member.person.operator, permissions=frozenset()
    )


def agent(project_id: str) -> Agent:
    return Agent(
        project_id=project_id,
        run_id="r",
        activation_id="act",
        card_id="card-a",
        name="executor",
        permissions=frozenset(),
        operations=frozenset(),
    )


@pytest.mark.covers("K03")
def test_a_project_has_its_scope_and_the_instance_hears_of_it(tmp_path: Path) -> None:
    """The page of projects follows the instance's feed."""
    found = instance.founded(tmp_path / "db")
    with instance.transaction(tmp_path / "db") as tx:
        assert scopes.lock(tx, found.project.scope)
        assert tx.all(FEED) == [(feed.Event.PROJECT_CREATED.value, f"projects/{found.project.id}")]
        assert projects.scope_of(tx, "garden") == projects.scope_of(tx, found.project.id) == found.project.scope
        assert projects.scope_of(tx, "missing") is None
    assert invariants.check(tmp_path / "db") == []


@pytest.mark.parametrize("slug", ["", "Garden", "-a", "a-", "a" * 65, "a/b", "a b", "ä", "a\n"])
def test_a_short_name_that_does_not_fit_an_address_is_invalid(tmp_path: Path, slug: str) -> None:
    """It stands in addresses as it is."""
    found = instance.founded(tmp_path / "db")
    with instance.transaction(tmp_path / "db") as tx:
        with pytest.raises(errors.Refusal) as refused:
            projects.add(tx, name="x", slug=slug, folder="/x", owner_id=found.operator.person.id)
        assert (refused.value.code, refused.value.issues[0].path) == ("slug_invalid", "slug")


@pytest.mark.parametrize("slug", ["a", "0", "a-b", "a" * 64])
def test_a_short_name_that_fits_is_taken(tmp_path: Path, slug: str) -> None:
    """The borders of the rule."""
    found = instance.founded(tmp_path / "db")
    with instance.transaction(tmp_path / "db") as tx:
        made = projects.add(tx, name="x", slug=slug, folder="/x", owner_id=found.operator.person.id)
        assert projects.find(tx, slug) == made


@pytest.mark.parametrize(
    ("slug", "folder", "code"), [("garden", "/other", "slug_taken"), ("other", "/garden", "folder_taken")]
)
def test_a_taken_short_name_or_folder_is_a_conflict(tmp_path: Path, slug: str, folder: str, code: str) -> None:
    """One address and one folder for one project (S3)."""
    found = instance.founded(tmp_path / "db")
    with instance.transaction(tmp_path / "db") as tx:
        with pytest.raises(errors.Refusal) as refused:
            projects.add(tx, name="x", slug=slug, folder=folder, owner_id=found.operator.person.id)
        assert (refused.value.kind, refused.value.code) == (errors.Kind.CONFLICT, code)


@pytest.mark.covers("K03")
def test_projects_are_seen_by_who_may_and_by_nobody_else(tmp_path: Path) -> None:
    """Missing and forbidden look the same (house style 27)."""
    found = instance.founded(tmp_path / "db")
    viewer = instance.joined(found, name="Vi", role=Role.VIEWER)
    outsider = instance.joined(found, name="Eve")
    sees: list[Caller] = [person(found.operator), person(viewer), agent(found.project.id), System(part="x")]
    blind: list[Caller] = [person(outsider), agent("another"), Anonymous()]
    with instance.transaction(tmp_path / "db") as tx:
        for caller in sees:
            assert projects.visible(tx, caller, "garden") == found.project
            assert projects.listed(tx, caller) == (found.project,)
        for caller in blind:
            assert projects.listed(tx, caller) == ()
            refusals = []
            for name in ("garden", "missing"):
                with pytest.raises(errors.Refusal) as refused:
                    projects.visible(tx, caller, name)
                refusals.append((refused.value.code, refused.value.message.replace(name, "it")))
            assert refusals[0] == refusals[1]


@pytest.mark.covers("K03")
def test_roles_are_read_from_the_share_and_the_owner(tmp_path: Path) -> None:
    """The owner needs no share; nobody else has a role without one."""
    found = instance.founded(tmp_path / "db")
    editor = instance.joined(found, name="Ed", role=Role.EDITOR)
    with instance.transaction(tmp_path / "db") as tx:
        assert projects.role(tx, found.project, found.operator.person.id) is Role.OWNER
        assert projects.role(tx, found.project, editor.person.id) is Role.EDITOR
        assert projects.role(tx, found.project, "missing") is None


def test_the_server_itself_lists_every_project(tmp_path: Path) -> None:
    """Recovery goes through all of them."""
    found = instance.founded(tmp_path / "db")
    pond = instance.second_project(found, slug="pond")
    with instance.transaction(tmp_path / "db") as tx:
        assert projects.all_of_them(tx) == (found.project, pond)
