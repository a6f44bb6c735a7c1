"""Where keys are used: which providers of which projects name a secret or a variable, and for which routes."""

from dataclasses import dataclass

from pydantic import Field

from workstead.accounts import projects
from workstead.accounts.projects import Project
from workstead.kernel import scopes
from workstead.kernel.access import Caller, Permission
from workstead.kernel.operations import AnyOperation, Door, Effect, Input, Operation
from workstead.kernel.transaction import Tx
from workstead.work import configurations

_PROJECTS = 50


class ListKeyUses(Input):
    """Where keys are used."""

    offset: int = Field(default=0, ge=0, description="How many projects to pass over.")


@dataclass(frozen=True, kw_only=True)
class KeyUse:
    """One provider of a project. key: as its configuration names it, `secret:NAME` or `env:NAME`."""

    key: str
    project: str
    provider: str
    base_url: str | None
    routes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class KeyUses:
    """Uses by the configurations that were accepted last. next: pass it as offset; None at the end."""

    uses: tuple[KeyUse, ...]
    next: int | None


def list_key_uses(tx: Tx, caller: Caller, args: ListKeyUses) -> KeyUses:
    """The uses of a stretch of the projects."""
    seen = projects.listed(tx, caller)
    found = seen[args.offset : args.offset + _PROJECTS]
    more = args.offset + _PROJECTS if len(seen) > args.offset + _PROJECTS else None
    return KeyUses(uses=tuple(use for project in found for use in _uses(tx, project)), next=more)


def _uses(tx: Tx, project: Project) -> tuple[KeyUse, ...]:
    digest = configurations.newest_trusted(tx, project.id)
    if digest is None:
        return ()
    configuration = configurations.load(tx, digest)
    return tuple(
        KeyUse(
            key=f"{provider.key.source.value}:{provider.key.name}",
            project=project.slug,
            provider=provider.name,
            base_url=provider.base_url,
            routes=tuple(
                route.name
                for route in configuration.routes.values()
                if any(each.provider == provider.name for each in route.candidates)
            ),
        )
        for provider in configuration.providers.values()
        if provider.key is not None
    )


def _instance(_tx: Tx, _args: Input) -> str:
    return scopes.INSTANCE


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        name="list_key_uses",
        summary="Which projects use which keys.",
        input=ListKeyUses,
        output=KeyUses,
        permissions=frozenset({Permission.SECRETS_MANAGE}),
        effect=Effect.READ,
        doors=frozenset({Door.CLI, Door.PAGE}),
        handler=list_key_uses,
        lock=_instance,
    ),
)
