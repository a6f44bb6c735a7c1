"""Secrets: keys of outside services, encrypted under the instance's key; set, used, replaced, never shown again."""

import base64
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from sqlalchemy import bindparam, delete, select

from workstead import errors, instance
from workstead.accounts.tables import secret
from workstead.kernel.access import Proof
from workstead.kernel.canonical import Json
from workstead.kernel.operations import Door, Operations, input_refusal
from workstead.kernel.store import Prepared, prepared
from workstead.kernel.transaction import Tx

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MAX_VALUE_CHARS = 8192
NAME = r"^[a-z][a-z0-9_-]{0,63}$"

_NONCE_BYTES = 12

Name = Annotated[str, Field(pattern=NAME, description="As configurations write it after `secret:`.")]


class SetSecret(BaseModel):
    """What is put into the store."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    value: SecretStr = Field(min_length=1, max_length=MAX_VALUE_CHARS)


@dataclass(frozen=True, kw_only=True)
class Sealed:
    """A value that only this instance can open, and only under its name; both in base64."""

    nonce: str
    ciphertext: str


@dataclass(frozen=True, kw_only=True)
class Stored:
    """A secret without its value."""

    name: str
    set_at: str
    set_by: str


_FIELDS = ("name", "nonce", "ciphertext", "set_at", "set_by")
# ON CONFLICT has one spelling in both databases but one `insert()` per dialect in Core.
_PUT_SQL = (
    "INSERT INTO secret (name, nonce, ciphertext, set_at, set_by) VALUES ({0}) ON CONFLICT (name) DO UPDATE SET "
    "nonce = excluded.nonce, ciphertext = excluded.ciphertext, set_at = excluded.set_at, set_by = excluded.set_by"
)
_PUT = Prepared(
    sqlite=_PUT_SQL.format(", ".join(f":{name}" for name in _FIELDS)),
    postgresql=_PUT_SQL.format(", ".join(f"%({name})s" for name in _FIELDS)),
)
_READ = prepared(select(secret.c.nonce, secret.c.ciphertext).where(secret.c.name == bindparam("k_name")))
_LIST = prepared(select(secret.c.name, secret.c.set_at, secret.c.set_by).order_by(secret.c.name))
_DELETE = prepared(delete(secret).where(secret.c.name == bindparam("k_name")))


class Safe:
    """Seals and opens. key_file: made at the first use. learn: told every value, so that nothing ever shows it."""

    def __init__(self, key_file: Path, *, learn: Callable[[str], None]) -> None:
        self._key_file = key_file
        self._learn = learn

    def seal(self, name: str, value: str) -> Sealed:
        """Encrypt a value for its name."""
        self._learn(value)
        nonce = os.urandom(_NONCE_BYTES)
        ciphertext = self._box(make=True).encrypt(nonce, value.encode(), name.encode())
        return Sealed(nonce=base64.b64encode(nonce).decode(), ciphertext=base64.b64encode(ciphertext).decode())

    def open(self, name: str, sealed: Sealed) -> str:
        """The value. Raises unavailable `secret_unreadable` when it was sealed under another key or name."""
        # Imported where it is used: its library is 8 MB that most instances never need.
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415

        nonce, ciphertext = base64.b64decode(sealed.nonce), base64.b64decode(sealed.ciphertext)
        try:
            value = self._box(make=False).decrypt(nonce, ciphertext, name.encode()).decode()
        except InvalidTag:
            message = f"The secret {name!r} cannot be opened with this instance's key; set it again."
            raise errors.unavailable("secret_unreadable", message) from None
        self._learn(value)
        return value

    def _box(self, *, make: bool) -> "AESGCM":
        from cryptography.hazmat.primitives.ciphers import aead  # noqa: PLC0415 - as above

        return aead.AESGCM(instance.key(self._key_file, make=make))


async def put_sealed(operations: Operations, safe: Safe, proof: Proof, raw: Mapping[str, Json]) -> Json:
    """Seal a value and store it: what becomes of it afterwards, receipts included, holds no plain secret.

    Raises `invalid` with paths, and what the operation refuses.
    """
    try:
        given = SetSecret.model_validate(raw)
    except ValidationError as error:
        raise input_refusal(error) from None
    sealed = safe.seal(given.name, given.value.get_secret_value())
    done = await operations.run(
        proof,
        "set_secret",
        {"name": given.name, "nonce": sealed.nonce, "ciphertext": sealed.ciphertext},
        door=Door.CLI,
    )
    return cast("Json", done.model_dump())


def put(tx: Tx, name: str, sealed: Sealed, *, by: str) -> bool:
    """Store a sealed value in place of what was there; whether something was."""
    replaced = read(tx, name) is not None
    tx.run(_PUT, name=name, nonce=sealed.nonce, ciphertext=sealed.ciphertext, set_at=tx.at, set_by=by)
    return replaced


def read(tx: Tx, name: str) -> Sealed | None:
    """A sealed value, or None."""
    row = tx.one(_READ, k_name=name)
    return Sealed(nonce=cast("str", row[0]), ciphertext=cast("str", row[1])) if row is not None else None


def listed(tx: Tx) -> tuple[Stored, ...]:
    """Every secret by name, without its value."""
    return tuple(
        Stored(name=cast("str", name), set_at=cast("str", set_at), set_by=cast("str", set_by))
        for name, set_at, set_by in tx.all(_LIST)
    )


def remove(tx: Tx, name: str) -> bool:
    """Forget a secret; whether there was one."""
    return tx.run(_DELETE, k_name=name) == 1
