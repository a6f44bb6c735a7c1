"""The operations of personal tokens: a person makes them, looks at them and revokes them."""

from dataclasses import dataclass

from pydantic import Field

from workstead import errors
from workstead.accounts import api_tokens
from workstead.accounts.api_tokens import ApiToken
from workstead.kernel import evidence, scopes
from workstead.kernel.access import Caller, Permission, Person
from workstead.kernel.operations import AnswerRule, AnyOperation, Door, Effect, Input, Operation, WriteInput
from workstead.kernel.transaction import Tx

DAYS = 30
DAYS_MOST = 365

_DOORS = frozenset({Door.CLI, Door.PAGE, Door.REST})
_MANAGE = frozenset({Permission.TOKENS_MANAGE})


class CreateApiToken(WriteInput):
    """Make a token for a program of one's own."""

    name: str = Field(min_length=1, max_length=80, description="What you call it.")
    days: int = Field(default=DAYS, ge=1, le=DAYS_MOST, description="How long it is good.")


class ListApiTokens(Input):
    """The tokens one made."""


class RevokeApiToken(WriteInput):
    """End a token."""

    token: str = Field(min_length=1, max_length=80, description="Its id, or the name of one that still holds.")


@dataclass(frozen=True, kw_only=True)
class ApiTokenView:
    """One token, without its secret."""

    id: str
    name: str
    created_at: str
    expires_at: str
    ended_at: str | None
    holds: bool


@dataclass(frozen=True, kw_only=True)
class ApiTokenMade:
    """A fresh token. secret: shown once."""

    secret: str
    token: ApiTokenView


@dataclass(frozen=True, kw_only=True)
class ApiTokenList:
    """Oldest first."""

    tokens: tuple[ApiTokenView, ...]


def create(tx: Tx, caller: Caller, args: CreateApiToken) -> ApiTokenMade:
    """Make a token of the caller's. Raises `api_token_name_taken`."""
    person = _person(caller)
    if any(one.name == args.name and one.holds(tx.at) for one in api_tokens.of_person(tx, person.id)):
        raise errors.conflict("api_token_name_taken", f"You have a token called {args.name!r} already.")
    secret, made = api_tokens.add(tx, person_id=person.id, name=args.name, days=args.days)
    _noted(tx, person, made, event="accounts:api_token:created")
    return ApiTokenMade(secret=secret, token=_view(tx, made))


def listed(tx: Tx, caller: Caller, _: ListApiTokens) -> ApiTokenList:
    """The caller's own tokens."""
    return ApiTokenList(tokens=tuple(_view(tx, one) for one in api_tokens.of_person(tx, _person(caller).id)))


def revoke(tx: Tx, caller: Caller, args: RevokeApiToken) -> ApiTokenView:
    """End one; its next call fails. Asked again, it is the same end. Raises `api_token_not_found`."""
    person = _person(caller)
    own = api_tokens.of_person(tx, person.id)
    named = [one for one in own if one.name == args.token and one.holds(tx.at)]
    found = next((one for one in own if one.id == args.token), None) or next(iter(named), None)
    if found is None:
        raise errors.not_found("api token", args.token)
    if api_tokens.revoke(tx, found):
        _noted(tx, person, found, event="accounts:api_token:revoked")
    return next(_view(tx, one) for one in api_tokens.of_person(tx, person.id) if one.id == found.id)


def _person(caller: Caller) -> Person:
    if not isinstance(caller, Person):
        raise errors.unauthenticated()
    return caller


def _view(tx: Tx, one: ApiToken) -> ApiTokenView:
    return ApiTokenView(
        id=one.id,
        name=one.name,
        created_at=one.created_at,
        expires_at=one.expires_at,
        ended_at=one.ended_at,
        holds=one.holds(tx.at),
    )


def _noted(tx: Tx, person: Person, one: ApiToken, *, event: str) -> None:
    evidence.add(
        tx,
        scopes.INSTANCE,
        evidence.Lane.CONTROL,
        event=event,
        actor=f"person:{person.name}",
        subject=one.id,
        detail={"name": one.name},
    )


def _instance(_: Tx, __: Input) -> str:
    return scopes.INSTANCE


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        name="create_api_token",
        summary="Make a token for a program of your own, shown once.",
        input=CreateApiToken,
        output=ApiTokenMade,
        permissions=_MANAGE,
        effect=Effect.WRITE,
        doors=_DOORS,
        handler=create,
        lock=_instance,
        answer=AnswerRule.ONCE,
    ),
    Operation(
        name="list_api_tokens",
        summary="List your tokens.",
        input=ListApiTokens,
        output=ApiTokenList,
        permissions=_MANAGE,
        effect=Effect.READ,
        doors=_DOORS,
        handler=listed,
        lock=_instance,
    ),
    Operation(
        name="revoke_api_token",
        summary="End one of your tokens.",
        input=RevokeApiToken,
        output=ApiTokenView,
        permissions=_MANAGE,
        effect=Effect.WRITE,
        doors=_DOORS,
        handler=revoke,
        lock=_instance,
    ),
)
