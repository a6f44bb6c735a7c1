"""The operations of secrets: put a sealed value in, see what is there, forget it. No answer holds a value."""

from pydantic import BaseModel, ConfigDict, Field

from workstead import errors
from workstead.accounts import secrets
from workstead.accounts.secrets import Name, Sealed
from workstead.kernel import evidence, scopes
from workstead.kernel.access import Caller, Permission
from workstead.kernel.evidence import Lane
from workstead.kernel.operations import AnyOperation, Door, Effect, Input, Operation, WriteInput
from workstead.kernel.transaction import Tx

_BASE64 = r"^[A-Za-z0-9+/]+={0,2}$"


class SetSecret(WriteInput):
    """Store a value that was sealed before; the plain value is never an input."""

    name: Name
    nonce: str = Field(pattern=_BASE64, max_length=32)
    ciphertext: str = Field(pattern=_BASE64, max_length=65_536)


class ListSecrets(Input):
    """Ask what is stored."""


class DeleteSecret(WriteInput):
    """Forget a secret."""

    name: Name


class View(BaseModel):
    """The base of these answers."""

    model_config = ConfigDict(frozen=True)


class SecretSet(View):
    """replaced: whether there was one of this name before."""

    name: str
    replaced: bool


class StoredSecret(View):
    """One that is stored: what it is called, when and by whom it was set."""

    name: str
    set_at: str
    set_by: str


class StoredList(View):
    """Everything stored, by name."""

    stored: tuple[StoredSecret, ...]


class SecretDeleted(View):
    """Which one is gone."""

    name: str


def set_secret(tx: Tx, caller: Caller, args: SetSecret) -> SecretSet:
    """Store it in place of what was there."""
    sealed = Sealed(nonce=args.nonce, ciphertext=args.ciphertext)
    replaced = secrets.put(tx, args.name, sealed, by=caller.author.name)
    _note(tx, caller, args.name, event="accounts:secret:set")
    return SecretSet(name=args.name, replaced=replaced)


def list_secrets(tx: Tx, _: Caller, __: ListSecrets) -> StoredList:
    """Names, times and people; never a value."""
    found = secrets.listed(tx)
    return StoredList(stored=tuple(StoredSecret(name=one.name, set_at=one.set_at, set_by=one.set_by) for one in found))


def delete_secret(tx: Tx, caller: Caller, args: DeleteSecret) -> SecretDeleted:
    """Forget it; what uses it is blocked from its next call on."""
    if not secrets.remove(tx, args.name):
        raise errors.not_found("secret", args.name)
    _note(tx, caller, args.name, event="accounts:secret:deleted")
    return SecretDeleted(name=args.name)


def _note(tx: Tx, caller: Caller, name: str, *, event: str) -> None:
    evidence.add(
        tx, scopes.INSTANCE, Lane.CONTROL, event=event, actor=caller.subject, subject=f"secrets/{name}", detail={}
    )


def _instance(_: Tx, __: Input) -> str:
    return scopes.INSTANCE


_MANAGE = frozenset({Permission.SECRETS_MANAGE})
_DOORS = frozenset({Door.CLI, Door.PAGE})

OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        name="delete_secret",
        summary="Forget a stored secret.",
        input=DeleteSecret,
        output=SecretDeleted,
        permissions=_MANAGE,
        effect=Effect.DESTRUCTIVE,
        doors=_DOORS,
        handler=delete_secret,
        lock=_instance,
    ),
    Operation(
        name="list_secrets",
        summary="Which secrets are stored, without their values.",
        input=ListSecrets,
        output=StoredList,
        permissions=_MANAGE,
        effect=Effect.READ,
        doors=_DOORS,
        handler=list_secrets,
        lock=_instance,
    ),
    Operation(
        name="set_secret",
        summary="Store a secret, in place of one of the same name.",
        input=SetSecret,
        output=SecretSet,
        permissions=_MANAGE,
        effect=Effect.WRITE,
        doors=_DOORS,
        handler=set_secret,
        lock=_instance,
    ),
)
