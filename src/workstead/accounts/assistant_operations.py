"""The operations of assistants: a person makes them, looks at them and revokes them (D02, D13)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from pydantic import Field

from workstead import errors
from workstead.accounts import assistants, projects
from workstead.accounts.assistants import AssistantRow, NewAssistant, Use
from workstead.accounts.uses import OK
from workstead.kernel import evidence, scopes
from workstead.kernel.access import GRANTABLE, Caller, Permission, Person
from workstead.kernel.operations import AnswerRule, AnyOperation, Door, Effect, Input, Operation, WriteInput
from workstead.kernel.transaction import Tx

DAYS = 30
DAYS_MOST = 90
ALL: Literal["all"] = "all"

_PEOPLES = frozenset({Door.CLI, Door.PAGE, Door.REST})
_MANAGE = frozenset({Permission.ASSISTANTS_MANAGE})

Offered = Callable[[], frozenset[str]]
"""The names of the operations an assistant can be given; asked late, when the table stands."""


class CreateAssistant(WriteInput):
    """Make an assistant and its token."""

    name: str = Field(min_length=1, max_length=80, description="What you call it.")
    permissions: tuple[str, ...] = Field(min_length=1, max_length=20, description="What it may do at most.")
    projects: Literal["all"] | tuple[str, ...] | None = Field(
        default=None, description="Ids or short names; `all` is every project you see, later ones too. Required."
    )
    operations: tuple[str, ...] | None = Field(
        default=None, min_length=1, max_length=200, description="The exact operations it may call; else as permitted."
    )
    days: int = Field(default=DAYS, ge=1, le=DAYS_MOST, description="How long its token is good.")


class ListAssistants(Input):
    """The assistants one made."""


class RevokeAssistant(WriteInput):
    """End an assistant's token."""

    assistant: str = Field(min_length=1, max_length=80, description="Its id, or the name of one that still holds.")


@dataclass(frozen=True, kw_only=True)
class AssistantView:
    """One assistant, without its token. projects: short names, or `all`. refusals: calls that were refused."""

    id: str
    name: str
    permissions: tuple[Permission, ...]
    projects: Literal["all"] | tuple[str, ...]
    operations: tuple[str, ...] | None
    created_at: str
    expires_at: str
    ended_at: str | None
    holds: bool
    calls: int
    refusals: int
    last_used_at: str | None
    uses: tuple[Use, ...]


@dataclass(frozen=True, kw_only=True)
class AssistantMade:
    """A fresh assistant. token: shown once."""

    token: str
    assistant: AssistantView


@dataclass(frozen=True, kw_only=True)
class AssistantList:
    """Oldest first. offered: the tools that one can be narrowed to."""

    assistants: tuple[AssistantView, ...]
    offered: tuple[str, ...]


def create(offered: Offered, tx: Tx, caller: Caller, args: CreateAssistant) -> AssistantMade:
    """Make an assistant of the caller's.

    Raises `project_selection_required`, `permission_not_grantable`, `operation_unknown`, `assistant_name_taken`,
    `project_not_found`.
    """
    person = _person(caller)
    if any(one.name == args.name and one.holds(tx.at) for one in assistants.of_owner(tx, person.id)):
        raise errors.conflict("assistant_name_taken", f"You have an assistant called {args.name!r} already.")
    wanted = NewAssistant(
        name=args.name,
        permissions=_permissions(args),
        projects=_boundary(tx, person, args),
        operations=_operations(args, offered()),
        days=args.days,
    )
    token, made = assistants.add(tx, wanted, owner_id=person.id)
    _noted(tx, person, made, event="accounts:assistant:created")
    return AssistantMade(token=token, assistant=_view(tx, made))


def listed(offered: Offered, tx: Tx, caller: Caller, _: ListAssistants) -> AssistantList:
    """The caller's own assistants, with what they did."""
    own = tuple(_view(tx, one) for one in assistants.of_owner(tx, _person(caller).id))
    return AssistantList(assistants=own, offered=tuple(sorted(offered())))


def revoke(tx: Tx, caller: Caller, args: RevokeAssistant) -> AssistantView:
    """End one; its next call fails, inside a transaction too. Asked again, it is the same end."""
    person = _person(caller)
    own = assistants.of_owner(tx, person.id)
    named = [one for one in own if one.name == args.assistant and one.holds(tx.at)]
    found = next((one for one in own if one.id == args.assistant), None) or next(iter(named), None)
    if found is None:
        raise errors.not_found("assistant", args.assistant)
    if assistants.revoke(tx, found):
        _noted(tx, person, found, event="accounts:assistant:revoked")
    again = assistants.read(tx, found.digest)
    assert again is not None
    return _view(tx, again)


def operations(offered: Offered) -> tuple[AnyOperation, ...]:
    """The operations of assistants."""
    return (
        Operation(
            name="create_assistant",
            summary="Make an assistant with a token of its own, shown once.",
            input=CreateAssistant,
            output=AssistantMade,
            permissions=_MANAGE,
            effect=Effect.WRITE,
            doors=_PEOPLES,
            handler=partial(create, offered),
            lock=_instance,
            answer=AnswerRule.ONCE,
        ),
        Operation(
            name="list_assistants",
            summary="List your assistants with their last use and refusals.",
            input=ListAssistants,
            output=AssistantList,
            permissions=_MANAGE,
            effect=Effect.READ,
            doors=_PEOPLES,
            handler=partial(listed, offered),
            lock=_instance,
        ),
        Operation(
            name="revoke_assistant",
            summary="End an assistant's token.",
            input=RevokeAssistant,
            output=AssistantView,
            permissions=_MANAGE,
            effect=Effect.WRITE,
            doors=_PEOPLES,
            handler=revoke,
            lock=_instance,
        ),
    )


def _person(caller: Caller) -> Person:
    if not isinstance(caller, Person):
        raise errors.unauthenticated()
    return caller


def _permissions(args: CreateAssistant) -> frozenset[Permission]:
    grantable = {each.value: each for each in GRANTABLE}
    for name in args.permissions:
        if name not in grantable:
            message = f"An assistant cannot hold {name!r}; choose among {', '.join(sorted(grantable))}."
            raise errors.invalid("permission_not_grantable", message, grantable=sorted(grantable))
    return frozenset(grantable[name] for name in args.permissions)


def _boundary(tx: Tx, person: Person, args: CreateAssistant) -> frozenset[str] | None:
    if args.projects is None:
        message = "Name the projects it may reach, or choose `all`: every project you see, later ones too."
        raise errors.invalid("project_selection_required", message)
    if args.projects == ALL:
        return None
    return frozenset(projects.visible(tx, person, name).id for name in args.projects)


def _operations(args: CreateAssistant, offered: frozenset[str]) -> frozenset[str] | None:
    if args.operations is None:
        return None
    unknown = sorted(set(args.operations) - offered)
    if unknown:
        message = f"No assistant can call {', '.join(unknown)}; docs/mcp.md lists what there is."
        raise errors.invalid("operation_unknown", message, unknown=unknown)
    return frozenset(args.operations)


def _view(tx: Tx, one: AssistantRow) -> AssistantView:
    uses = assistants.uses(tx, one.id)
    found = [projects.find(tx, each) for each in sorted(one.projects or ())]
    return AssistantView(
        id=one.id,
        name=one.name,
        permissions=tuple(sorted(one.permissions)),
        projects=ALL if one.projects is None else tuple(sorted(each.slug for each in found if each is not None)),
        operations=None if one.operations is None else tuple(sorted(one.operations)),
        created_at=one.created_at,
        expires_at=one.expires_at,
        ended_at=one.ended_at,
        holds=one.holds(tx.at),
        calls=sum(use.calls for use in uses),
        refusals=sum(use.calls for use in uses if use.code != OK),
        last_used_at=max((use.last_at for use in uses), default=None),
        uses=uses,
    )


def _noted(tx: Tx, person: Person, one: AssistantRow, *, event: str) -> None:
    evidence.add(
        tx,
        scopes.INSTANCE,
        evidence.Lane.CONTROL,
        event=event,
        actor=f"person:{person.name}",
        subject=one.id,
        detail={"name": one.name, "permissions": [*sorted(one.permissions)]},
    )


def _instance(_: Tx, __: Input) -> str:
    return scopes.INSTANCE
