"""The operations of accounts: signing in by a one-time link, signing out, and who somebody is."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from workstead import errors
from workstead.accounts import credentials, people
from workstead.accounts.credentials import CredentialKind
from workstead.kernel import scopes
from workstead.kernel.access import Caller, Permission, Person
from workstead.kernel.operations import AnswerRule, AnyOperation, Door, Effect, Input, Operation, Reach, WriteInput
from workstead.kernel.transaction import Tx

_Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class SignIn(WriteInput):
    """Spend a one-time link."""

    link: str = Field(min_length=8, max_length=200, description="The link's secret.")


class SignOut(WriteInput):
    """End the sign-in that a browser holds."""

    digest: _Digest


class MakeLink(WriteInput):
    """Ask for a sign-in link."""


class GetMe(Input):
    """Ask who one is."""


class View(BaseModel):
    """The base of these answers."""

    model_config = ConfigDict(frozen=True)


class Secret(View):
    """A fresh secret, shown once. lifetime_s: how long it is good."""

    secret: str
    lifetime_s: int


class SignedOut(View):
    """ended: whether it was still good."""

    ended: bool


class Me(View):
    """Who asks."""

    id: str
    name: str
    operator: bool


def sign_in(tx: Tx, _: Caller, args: SignIn) -> Secret:
    """Spend the link and give a sign-in; a link that is unknown, spent or expired looks the same."""
    digest = credentials.digest(args.link)
    found = credentials.read(tx, digest)
    person = people.read(tx, found.person_id) if found is not None else None
    good = found is not None and found.kind is CredentialKind.LINK and found.holds(tx.at)
    if not good or person is None or person.suspended_at is not None or not credentials.end(tx, digest):
        raise errors.denied(
            "link_spent", "This link was used already or has expired; get a fresh one with `workstead link`."
        )
    return _issue(tx, CredentialKind.SIGN_IN, person.id)


def sign_out(tx: Tx, caller: Caller, args: SignOut) -> SignedOut:
    """End one of the caller's own sign-ins."""
    person = _person(caller)
    found = credentials.read(tx, args.digest)
    if found is None or found.person_id != person.id or found.kind is not CredentialKind.SIGN_IN:
        raise errors.not_found("sign-in", args.digest[:8])
    return SignedOut(ended=credentials.end(tx, args.digest))


def make_link(tx: Tx, caller: Caller, _: MakeLink) -> Secret:
    """A one-time link for whoever asks, good for ten minutes."""
    return _issue(tx, CredentialKind.LINK, _person(caller).id)


def get_me(_: Tx, caller: Caller, __: GetMe) -> Me:
    """Who the caller is."""
    person = _person(caller)
    return Me(id=person.id, name=person.name, operator=person.operator)


def _issue(tx: Tx, kind: CredentialKind, person_id: str) -> Secret:
    secret = credentials.issue(tx, kind=kind, person_id=person_id)
    return Secret(secret=secret, lifetime_s=credentials.LIFETIMES_S[kind])


def _person(caller: Caller) -> Person:
    if not isinstance(caller, Person):
        raise errors.unauthenticated()
    return caller


def _instance(_: Tx, __: Input) -> str:
    return scopes.INSTANCE


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        name="get_me",
        summary="Who you are here.",
        input=GetMe,
        output=Me,
        permissions=frozenset(),
        effect=Effect.READ,
        doors=frozenset({Door.PAGE, Door.CLI, Door.REST}),
        handler=get_me,
        lock=_instance,
        reach=Reach.KEY,
    ),
    Operation(
        name="make_sign_in_link",
        summary="Make a one-time sign-in link for yourself.",
        input=MakeLink,
        output=Secret,
        permissions=frozenset({Permission.SIGN_IN}),
        effect=Effect.WRITE,
        doors=frozenset({Door.CLI}),
        handler=make_link,
        lock=_instance,
        answer=AnswerRule.ONCE,
    ),
    Operation(
        name="sign_in",
        summary="Sign in by spending a one-time link.",
        input=SignIn,
        output=Secret,
        permissions=frozenset({Permission.SIGN_IN}),
        effect=Effect.WRITE,
        doors=frozenset({Door.PAGE}),
        handler=sign_in,
        lock=_instance,
        answer=AnswerRule.ONCE,
    ),
    Operation(
        name="sign_out",
        summary="End the sign-in of this browser.",
        input=SignOut,
        output=SignedOut,
        permissions=frozenset({Permission.SIGN_IN}),
        effect=Effect.WRITE,
        doors=frozenset({Door.PAGE}),
        handler=sign_out,
        lock=_instance,
    ),
)
