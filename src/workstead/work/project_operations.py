"""Operations of projects: bind a folder, list, look at one, and trust what its folder configures (K03, S2, S3)."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

from pydantic import Field

from workstead import errors
from workstead.accounts import people, projects
from workstead.kernel import scopes
from workstead.kernel.access import Agent, Assistant, Caller, Permission, Person, System
from workstead.kernel.operations import AnyOperation, Effect, Input, Operation, WriteInput
from workstead.kernel.transaction import Tx
from workstead.work import card_lists, card_operations, cards, configurations, records, rules, template
from workstead.work import configuration as compiler
from workstead.work.cards import NewCard
from workstead.work.configurations import Gathered
from workstead.work.rules import OWNERS_DOORS, PEOPLES_DOORS, ProjectRead, ProjectWrite, Rules
from workstead.work.workflow import identity
from workstead.work.workflow.lifecycle import Status
from workstead.workspace import files, folders

_SLUG_CHARS = 60


class CreateProject(WriteInput):
    """A folder becomes a project."""

    folder: str = Field(min_length=1, max_length=4096, description="Full path of a folder on the server's machine.")
    name: card_operations.Title = Field(description="What people call the project.")
    slug: str | None = Field(
        default=None, min_length=1, max_length=64, description="Short name in addresses; made from the name if absent."
    )
    template: str = Field(
        default=template.CLASSIC, max_length=64, description="What a folder without a configuration starts from."
    )
    title: card_operations.Title = Field(description="The title of the project's own card.")
    objective: str = Field(min_length=1, description="What is wanted, Markdown; the brief of the project's own card.")
    project_type: str = Field(default="project", max_length=64, description="The card type of the project's own card.")


class ListProjects(Input):
    """The projects one may see."""


class GetProject(ProjectRead):
    """One project."""


class GetConfiguration(ProjectRead):
    """The configuration that stands in a project's folder now."""


class TrustConfiguration(ProjectWrite):
    """A person accepts what a folder's configuration asks for."""

    digest: str = Field(min_length=64, max_length=64, description="The digest that was looked at.")


@dataclass(frozen=True, kw_only=True)
class ProjectMade:
    """A new project. trusted: whether its configuration may be run without anybody accepting it."""

    id: str
    slug: str
    folder: str
    digest: str
    trusted: bool


@dataclass(frozen=True, kw_only=True)
class ProjectView:
    """What a list shows. counts: how many living cards have each status; only those that occur."""

    id: str
    slug: str
    name: str
    title: str
    status: Status
    counts: dict[str, int]
    created_at: str


@dataclass(frozen=True, kw_only=True)
class ProjectList:
    """By short name."""

    projects: tuple[ProjectView, ...]


@dataclass(frozen=True, kw_only=True)
class ProjectDetail:
    """One project. folder: None for whoever works in it by other means."""

    id: str
    slug: str
    name: str
    title: str
    status: Status
    counts: dict[str, int]
    folder: str | None
    owner: str
    trusted_digest: str | None
    created_at: str


@dataclass(frozen=True, kw_only=True)
class ConfigurationView:
    """What stands in the folder. needs_trust: what trusting accepts. issues: why it does not compile."""

    digest: str
    trusted: bool
    compiles: bool
    needs_trust: tuple[str, ...]
    warnings: tuple[str, ...]
    issues: tuple[errors.Issue, ...]


@dataclass(frozen=True, kw_only=True)
class ConfigurationTrusted:
    """What may be run from now on."""

    project: str
    digest: str


@dataclass(frozen=True, kw_only=True)
class _Bound:
    """A folder that may become a project's. fresh: its configuration is the product's own template, just written."""

    folder: Path
    configuration: Gathered
    fresh: bool


def bind(setting: Rules, tx: Tx, caller: Caller, args: CreateProject) -> _Bound:
    """Admit the folder and read its configuration, writing the template first where there is none."""
    _free_slug(tx, args)
    real = folders.admit(Path(args.folder), data_folder=setting.data_folder, others=_folders(tx))
    materials = template.materialise(args.template)
    fresh = _materialise(real, materials)
    folders.prepare(real)
    gathered = configurations.gather(real)
    gathered.require()
    return _Bound(folder=real, configuration=gathered, fresh=fresh)


def create(setting: Rules, tx: Tx, caller: Caller, args: CreateProject) -> ProjectMade:
    """Make the project, its own card and the accepted brief."""
    bound = cast("_Bound", tx.gathered)
    # Somebody may have bound an overlapping folder between the reading and this transaction.
    folders.admit(bound.folder, data_folder=setting.data_folder, others=_folders(tx))
    owner = _owner(tx, caller)
    made = projects.add(tx, name=args.name, slug=_free_slug(tx, args), folder=str(bound.folder), owner_id=owner)
    compiled = bound.configuration.require()
    types = compiled.configuration.card_types
    if args.project_type not in types:
        message = f"The configuration has no card type {args.project_type!r}; it has {', '.join(types)}."
        raise errors.invalid("card_type_unknown", message, types=list(types))
    root = cards.create_root(tx, made, NewCard(type=args.project_type, title=args.title), author=caller.author)
    bootstrap = types[args.project_type].bootstrap_record
    records.accept_text(tx, root, bootstrap, text=args.objective, author=caller.author)
    digest = configurations.keep(tx, bound.configuration.sources)
    # The product's own template, or one that asks for nothing, leaves nothing for a person to accept (S2).
    trusted = bound.fresh or not compiler.needs_trust(compiled.configuration)
    if trusted:
        configurations.trust(tx, made, digest, person=caller.author.name)
    return ProjectMade(id=made.id, slug=made.slug, folder=made.folder, digest=digest, trusted=trusted)


def listed(tx: Tx, caller: Caller, args: ListProjects) -> ProjectList:
    """Every project the caller may see, with its own card and its counts."""
    rules.signed_in(caller)
    seen = projects.listed(tx, caller)
    roots = card_lists.roots(tx)
    counts = card_lists.counts(tx)
    return ProjectList(
        projects=tuple(
            ProjectView(
                id=one.id,
                slug=one.slug,
                name=one.name,
                title=roots[one.id].title,
                status=roots[one.id].status,
                counts=counts.get(one.id, {}),
                created_at=one.created_at,
            )
            for one in seen
            if one.id in roots
        )
    )


def get(tx: Tx, caller: Caller, args: GetProject) -> ProjectDetail:
    """One project as it is now."""
    one = projects.visible(tx, caller, args.project)
    root = cards.find(tx, one, identity.ROOT)
    owner = people.read(tx, one.owner_id)
    return ProjectDetail(
        id=one.id,
        slug=one.slug,
        name=one.name,
        title=root.title,
        status=root.status,
        counts=card_lists.counts_of(tx, one.id),
        folder=None if isinstance(caller, Agent | Assistant) else one.folder,
        owner=owner.name if owner is not None else "",
        trusted_digest=configurations.newest_trusted(tx, one.id),
        created_at=one.created_at,
    )


def get_configuration(tx: Tx, caller: Caller, args: GetConfiguration) -> ConfigurationView:
    """Read and compile what stands in the folder now."""
    project = projects.visible(tx, caller, args.project)
    found = configurations.gather(Path(project.folder))
    compiled = found.compiled
    return ConfigurationView(
        digest=found.digest,
        trusted=configurations.trusted(tx, project.id, found.digest),
        compiles=compiled is not None,
        needs_trust=compiler.needs_trust(compiled.configuration) if compiled is not None else (),
        warnings=compiled.warnings if compiled is not None else (),
        issues=found.refusal.issues if found.refusal is not None else (),
    )


def read_folder(tx: Tx, caller: Caller, args: TrustConfiguration) -> Gathered:
    """What stands in the folder while somebody accepts it."""
    project = projects.visible(tx, caller, args.project)
    return configurations.gather(Path(project.folder))


def trust(tx: Tx, caller: Caller, args: TrustConfiguration) -> ConfigurationTrusted:
    """Accept exactly what was looked at; a configuration that has changed since is refused."""
    project = projects.visible(tx, caller, args.project)
    found = cast("Gathered", tx.gathered)
    if found.digest != args.digest:
        raise errors.Refusal(
            kind=errors.Kind.STALE,
            code="configuration_stale",
            message="The configuration in the folder has changed since you looked; look again and decide.",
            details={"current_digest": found.digest},
        )
    found.require()
    digest = configurations.keep(tx, found.sources)
    configurations.trust(tx, project, digest, person=caller.author.name)
    return ConfigurationTrusted(project=project.id, digest=digest)


def operations(setting: Rules) -> tuple[AnyOperation, ...]:
    """The operations of projects."""
    return (_create_project(setting), *_OTHERS)


def _create_project(setting: Rules) -> AnyOperation:
    return Operation(
        name="create_project",
        summary="Make a project of a folder, with its own card and the objective as its brief.",
        input=CreateProject,
        output=ProjectMade,
        permissions=frozenset({Permission.PROJECT_BIND}),
        effect=Effect.WRITE,
        doors=OWNERS_DOORS,
        handler=partial(create, setting),
        lock=_instance,
        gather=partial(bind, setting),
    )


def _instance(tx: Tx, args: Input) -> str:
    return scopes.INSTANCE


_OTHERS: tuple[AnyOperation, ...] = (
    Operation(
        name="list_projects",
        summary="List the projects you may see.",
        input=ListProjects,
        output=ProjectList,
        permissions=frozenset(),
        effect=Effect.READ,
        doors=PEOPLES_DOORS,
        handler=listed,
        lock=_instance,
    ),
    Operation(
        name="get_project",
        summary="Look at a project: its own card, counts by status, folder, owner.",
        input=GetProject,
        output=ProjectDetail,
        permissions=frozenset({Permission.PROJECTS_READ}),
        effect=Effect.READ,
        doors=rules.EVERY_DOOR,
        handler=get,
        lock=rules.lock,
    ),
    Operation(
        name="get_configuration",
        summary="Read the folder's configuration: whether it compiles, what it asks for, who trusts it.",
        input=GetConfiguration,
        output=ConfigurationView,
        permissions=frozenset({Permission.PROJECTS_READ}),
        effect=Effect.READ,
        doors=PEOPLES_DOORS,
        handler=get_configuration,
        lock=rules.lock,
    ),
    Operation(
        name="trust_configuration",
        summary="Accept what the folder's configuration asks for, so that the project may be run with it.",
        input=TrustConfiguration,
        output=ConfigurationTrusted,
        permissions=frozenset({Permission.PROJECT_TRUST}),
        effect=Effect.WRITE,
        doors=OWNERS_DOORS,
        handler=trust,
        lock=rules.lock,
        gather=read_folder,
    ),
)


def _folders(tx: Tx) -> list[Path]:
    return [Path(one.folder) for one in projects.all_of_them(tx)]


def _owner(tx: Tx, caller: Caller) -> str:
    if isinstance(caller, Person):
        return caller.id
    if isinstance(caller, System):
        operator = people.operator(tx)
        if operator is not None:
            return operator.id
    raise errors.denied("owner_missing", "A project belongs to a person; sign in first.")


def _free_slug(tx: Tx, args: CreateProject) -> str:
    """The wanted short name, or one made from the name that nobody has."""
    if args.slug is not None:
        if projects.find(tx, args.slug) is not None:
            message = f"Another project is called {args.slug!r}; choose another short name."
            raise errors.conflict("slug_taken", message)
        return args.slug
    plain = unicodedata.normalize("NFKD", args.name).encode("ascii", "ignore").decode().lower()
    base = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_SLUG_CHARS].strip("-") or "project"
    taken = {one.slug for one in projects.all_of_them(tx)}
    number = 2
    free = base
    while free in taken:
        free = f"{base}-{number}"
        number += 1
    return free


def _materialise(folder: Path, materials: Mapping[str, bytes]) -> bool:
    """Write the template where the folder has no configuration; files that stand there already stay."""
    with files.Folder(folder) as opened:
        if _exists(opened, compiler.FILE):
            return False
        # The configuration itself comes last: it says that the rest is complete.
        for path in sorted(materials, key=lambda name: name == compiler.FILE):
            if not _exists(opened, path):
                opened.write_own(f"{files.OWN}/{path}", materials[path])
    return True


def _exists(opened: files.Folder, path: str) -> bool:
    try:
        opened.stat(f"{files.OWN}/{path}")
    except errors.Refusal as refusal:
        if refusal.kind is not errors.Kind.NOT_FOUND:
            raise
        return False
    return True
