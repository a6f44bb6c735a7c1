"""Projects: a folder plus its cards, configuration and people (K03, S3)."""

import re
from dataclasses import dataclass
from typing import cast

from sqlalchemy import bindparam, insert, select

from workstead import errors
from workstead.accounts.roles import Role
from workstead.accounts.tables import project, share
from workstead.kernel import feed, scopes
from workstead.kernel.access import Agent, Assistant, Caller, Permission, Person, System
from workstead.kernel.store import Row, prepared
from workstead.kernel.transaction import Tx

_ID_CHARS = 36
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")


@dataclass(frozen=True, kw_only=True)
class Project:
    """One project. slug: its name in addresses. folder: the real path of the folder it works in."""

    id: str
    slug: str
    name: str
    folder: str
    owner_id: str
    created_at: str

    @property
    def scope(self) -> str:
        """The lock scope of everything in the project."""
        return scopes.project(self.id)


_COLUMNS = (
    project.c.id,
    project.c.slug,
    project.c.name,
    project.c.folder,
    project.c.owner_id,
    project.c.created_at,
)
_ADD = prepared(insert(project))
_BY_ID = prepared(select(*_COLUMNS).where(project.c.id == bindparam("k_id")))
_BY_SLUG = prepared(select(*_COLUMNS).where(project.c.slug == bindparam("k_slug")))
_BY_FOLDER = prepared(select(project.c.id).where(project.c.folder == bindparam("k_folder")))
_ALL = prepared(select(*_COLUMNS).order_by(project.c.slug))
_ROLE = prepared(
    select(share.c.role).where(
        share.c.project_id == bindparam("k_project_id"), share.c.person_id == bindparam("k_person_id")
    )
)


def add(tx: Tx, *, name: str, slug: str, folder: str, owner_id: str) -> Project:
    """Make a project with its scope. Raises `invalid` for a bad slug, `conflict` for a slug or folder that is taken."""
    if _SLUG.fullmatch(slug) is None:
        raise errors.invalid(
            "slug_invalid",
            "A project's short name has 1 to 64 of a-z, 0-9 and inner hyphens.",
            issues=[errors.Issue(path="slug", message="use a-z, 0-9 and inner hyphens")],
        )
    if tx.one(_BY_SLUG, k_slug=slug) is not None:
        raise errors.conflict("slug_taken", f"Another project is called {slug!r}; choose another short name.")
    if tx.one(_BY_FOLDER, k_folder=folder) is not None:
        raise errors.conflict("folder_taken", f"Another project works in {folder}; choose another folder.")
    made = Project(id=tx.new_id(), slug=slug, name=name, folder=folder, owner_id=owner_id, created_at=tx.at)
    tx.run(
        _ADD,
        id=made.id,
        slug=made.slug,
        name=made.name,
        folder=made.folder,
        owner_id=made.owner_id,
        created_at=made.created_at,
    )
    scopes.create(tx, made.scope)
    feed.add(tx, scopes.INSTANCE, feed.Event.PROJECT_CREATED, topic=f"projects/{made.id}")
    return made


def find(tx: Tx, id_or_slug: str) -> Project | None:
    """A project by id or short name, whoever asks; for locking only, never shown from here."""
    known = tx.known.get(("project", id_or_slug))
    if isinstance(known, Project):
        return known
    if len(id_or_slug) == _ID_CHARS:
        row = tx.one(_BY_ID, k_id=id_or_slug) or tx.one(_BY_SLUG, k_slug=id_or_slug)
    else:
        row = tx.one(_BY_SLUG, k_slug=id_or_slug) or tx.one(_BY_ID, k_id=id_or_slug)
    if row is None:
        return None
    # A project's row is never changed, so a transaction looks it up once.
    found = _project(row)
    tx.known["project", id_or_slug] = found
    return found


def scope_of(tx: Tx, id_or_slug: str) -> str | None:
    """The lock scope of a project, or None."""
    found = find(tx, id_or_slug)
    return found.scope if found is not None else None


def visible(tx: Tx, caller: Caller, id_or_slug: str) -> Project:
    """The project, looked up through what the caller may see; raises `not_found`."""
    found = find(tx, id_or_slug)
    if found is None or not sees(tx, caller, found):
        raise errors.not_found("project", id_or_slug)
    return found


def listed(tx: Tx, caller: Caller) -> tuple[Project, ...]:
    """Every project the caller may see, by short name; an assistant that may not read any sees none."""
    if isinstance(caller, Assistant) and Permission.PROJECTS_READ not in caller.permissions:
        return ()
    return tuple(found for row in tx.all(_ALL) if sees(tx, caller, found := _project(row)))


def all_of_them(tx: Tx) -> tuple[Project, ...]:
    """Every project of the instance; for the server itself."""
    return tuple(_project(row) for row in tx.all(_ALL))


def sees(tx: Tx, caller: Caller, found: Project) -> bool:
    """Whether the caller may know that the project exists."""
    if isinstance(caller, System):
        return True
    if isinstance(caller, Agent):
        return caller.project_id == found.id
    if isinstance(caller, Assistant):
        return (caller.projects is None or found.id in caller.projects) and sees(tx, caller.owner, found)
    if isinstance(caller, Person):
        return caller.operator or role(tx, found, caller.id) is not None
    return False


def role(tx: Tx, found: Project, person_id: str) -> Role | None:
    """What a person is in the project, read now."""
    if found.owner_id == person_id:
        return Role.OWNER
    row = tx.one(_ROLE, k_project_id=found.id, k_person_id=person_id)
    return Role(cast("str", row[0])) if row is not None else None


def _project(row: Row) -> Project:
    identity, slug, name, folder, owner_id, created_at = cast("tuple[str, ...]", row)
    return Project(id=identity, slug=slug, name=name, folder=folder, owner_id=owner_id, created_at=created_at)
