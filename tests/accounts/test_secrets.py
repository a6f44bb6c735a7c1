"""Secrets are sealed before anything stores them, opened only with the instance's key, and hidden everywhere."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from support import instance as built
from support.instance import Founded
from workstead import errors, instance
from workstead.accounts import keys, secret_operations, secrets
from workstead.accounts.keys import Keyring, Source
from workstead.accounts.secrets import Safe, Sealed
from workstead.kernel import evidence, scopes
from workstead.kernel.access import Permission
from workstead.kernel.canonical import Json
from workstead.kernel.evidence import Lane
from workstead.kernel.operations import Door
from workstead.kernel.redaction import Redactor
from workstead.kernel.store import Prepared

COVERS_MODULES = ("accounts/keys.py", "accounts/secret_operations.py")
pytestmark = pytest.mark.covers("K09")
VALUE = "sk-proj-0123456789"
_RECEIPTS = Prepared(sqlite="SELECT group_concat(answer) FROM receipt", postgresql="")


@pytest.fixture
def found(tmp_path: Path) -> Founded:
    return built.founded(tmp_path / "workstead.sqlite3")


@pytest.fixture
def redactor() -> Redactor:
    return Redactor()


@pytest.fixture
def safe(tmp_path: Path, redactor: Redactor) -> Safe:
    return Safe(tmp_path / "instance.key", learn=redactor.learn)


@pytest.fixture
def operations(found: Founded) -> Iterator[built.Instance]:
    with built.opened(found.path, operations=secret_operations.OPERATIONS) as opened:
        yield opened


def code(refused: pytest.ExceptionInfo[errors.Refusal]) -> str:
    return refused.value.code


def keyring(
    safe: Safe, at: built.Instance, *, environ: Mapping[str, str] | None = None, variables: tuple[str, ...] = ()
) -> Keyring:
    return Keyring(
        environ=environ or {},
        variables=frozenset(variables),
        safe=safe,
        glance=at.effects.glance,
        learn=lambda _: None,
    )


def test_a_value_opens_under_its_own_name_and_key_only(tmp_path: Path, safe: Safe) -> None:
    """first-hour.md, "Data folder": AES-GCM under instance.key."""
    sealed = safe.seal("openai", VALUE)
    assert VALUE not in repr(sealed)
    assert safe.open("openai", sealed) == VALUE
    assert safe.seal("openai", VALUE) != sealed
    broken = Sealed(nonce=sealed.nonce, ciphertext=sealed.ciphertext[:-4] + "AAA=")
    other = Safe(tmp_path / "other.key", learn=lambda _: None)
    other.seal("any", "makes its key")
    for opens, name, what in [(safe, "other", sealed), (safe, "openai", broken), (other, "openai", sealed)]:
        with pytest.raises(errors.Refusal) as refused:
            opens.open(name, what)
        assert code(refused) == "secret_unreadable"


def test_the_key_is_made_at_the_first_use_with_mode_0600_and_stays(tmp_path: Path, safe: Safe) -> None:
    """first-hour.md, "Data folder"."""
    path = tmp_path / "instance.key"
    assert not path.exists()
    safe.seal("a", VALUE)
    first = path.read_bytes()
    safe.seal("b", VALUE)
    assert (path.stat().st_mode & 0o777, path.read_bytes()) == (0o600, first)
    assert [each.name for each in tmp_path.iterdir()] == ["instance.key"]


@pytest.mark.parametrize(
    ("content", "mode", "expected"),
    [
        (None, 0, "instance_key_missing"),
        ("00" * 32, 0o640, "instance_key_open"),
        ("00" * 31, 0o600, "instance_key_unusable"),
        ("zz" * 32, 0o600, "instance_key_unusable"),
        ("", 0o600, "instance_key_unusable"),
    ],
)
def test_a_key_that_cannot_be_used_is_refused(tmp_path: Path, content: str | None, mode: int, expected: str) -> None:
    """Nothing is made in its place: what was sealed could never be opened again."""
    path = tmp_path / "instance.key"
    if content is not None:
        path.write_text(content)
        path.chmod(mode)
    with pytest.raises(errors.Refusal) as refused:
        instance.key(path, make=False)
    assert code(refused) == expected


async def test_a_secret_is_set_replaced_listed_and_deleted_and_no_row_holds_it(
    found: Founded, operations: built.Instance, safe: Safe, redactor: Redactor
) -> None:
    """Never shown again: not in answers, receipts, evidence or the database's file."""
    proof = found.operator.proof
    given: dict[str, Json] = {"name": "openai", "value": VALUE}
    assert redactor.exact(f"key {VALUE}").text == f"key {VALUE}"
    first = await secrets.put_sealed(operations.operations, safe, proof, given)
    assert first == {"name": "openai", "replaced": False}
    assert redactor.exact(f"key {VALUE}").text == "key [redacted:instance-secret]"
    second = await secrets.put_sealed(operations.operations, safe, proof, {**given, "value": f"{VALUE}2"})
    assert second == {"name": "openai", "replaced": True}
    listed = await operations.operations.run(proof, "list_secrets", {}, door=Door.CLI)
    assert [(one.name, one.set_by) for one in listed.stored] == [("openai", "Ada")]
    ring = keyring(safe, operations)
    assert ring.read("secret", "openai") == f"{VALUE}2"
    await operations.operations.run(proof, "delete_secret", {"name": "openai"}, door=Door.CLI)
    with pytest.raises(errors.Refusal) as gone:
        ring.read("secret", "openai")
    assert code(gone) == "key_missing"
    assert "workstead secrets set openai" in gone.value.message
    with built.transaction(found.path) as tx:
        facts = evidence.listed(tx, scopes.INSTANCE, Lane.CONTROL, event="accounts:secret:%")
        receipts = tx.one(_RECEIPTS)
    assert [fact.event for fact in facts] == ["accounts:secret:deleted", *["accounts:secret:set"] * 2]
    assert receipts is not None
    assert VALUE not in str(receipts[0])
    written = [path.read_bytes() for path in found.path.parent.iterdir() if path.is_file()]
    assert not any(VALUE.encode() in content for content in written)


async def test_only_whoever_manages_secrets_may(found: Founded, operations: built.Instance, safe: Safe) -> None:
    """Permission.SECRETS_MANAGE: a person's alone, and the operator's."""
    other = built.joined(found, name="Bob")
    for name, given in [("list_secrets", {}), ("delete_secret", {"name": "a"})]:
        with pytest.raises(errors.Refusal) as refused:
            await operations.operations.run(other.proof, name, given, door=Door.PAGE)
        assert refused.value.kind is errors.Kind.DENIED
    with pytest.raises(errors.Refusal) as refused:
        await secrets.put_sealed(operations.operations, safe, other.proof, {"name": "a", "value": VALUE})
    assert refused.value.kind is errors.Kind.DENIED
    assert Permission.SECRETS_MANAGE.value in str(refused.value.details) + refused.value.message


@pytest.mark.parametrize(
    "given", [{"name": "A", "value": VALUE}, {"name": "a", "value": ""}, {"name": "a"}, {"name": "a", "value": [VALUE]}]
)
async def test_input_that_will_not_do_is_refused_without_the_value(
    found: Founded, operations: built.Instance, safe: Safe, given: dict[str, Json]
) -> None:
    """Issues have paths and never values."""
    with pytest.raises(errors.Refusal) as refused:
        await secrets.put_sealed(operations.operations, safe, found.operator.proof, given)
    assert refused.value.kind is errors.Kind.INVALID
    assert VALUE not in f"{refused.value.message}{refused.value.issues}"


@pytest.mark.covers("K19")
@pytest.mark.parametrize(
    ("source", "name", "expected"),
    [
        ("env", "MINE", "it"),
        ("env", "NOT_LISTED", "not in the setting key_variables"),
        ("env", "EMPTY", "was not set when the server started"),
        ("secret", "openai", "workstead secrets set openai"),
    ],
)
async def test_a_named_key_is_read_only_from_where_the_operator_allowed(
    operations: built.Instance, safe: Safe, source: Source, name: str, expected: str
) -> None:
    """S2: `env:NAME` from a list in the instance's settings."""
    environ = {"MINE": "it", "NOT_LISTED": VALUE, "EMPTY": ""}
    ring = keyring(safe, operations, environ=environ, variables=("MINE", "EMPTY"))
    try:
        found = ring.read(source, name)
    except errors.Refusal as refused:
        found = refused.message
    assert expected in found
    assert VALUE not in found


async def test_a_start_learns_every_secret_and_names_those_that_do_not_open(
    tmp_path: Path, found: Founded, operations: built.Instance, safe: Safe
) -> None:
    """A key that was lost must not stop the server."""
    proof = found.operator.proof
    await secrets.put_sealed(operations.operations, safe, proof, {"name": "good", "value": VALUE})
    stranger = Safe(tmp_path / "other.key", learn=lambda _: None)
    await secrets.put_sealed(operations.operations, stranger, proof, {"name": "lost", "value": VALUE})
    learned: list[str] = []
    fresh = Safe(tmp_path / "instance.key", learn=learned.append)
    assert operations.effects.glance(lambda tx: keys.known(tx, fresh)) == ["lost"]
    assert learned == [VALUE]
