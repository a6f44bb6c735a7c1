"""People: accounts with their scopes (K01)."""

from pathlib import Path

import pytest

from support import instance, invariants
from workstead.accounts import people
from workstead.kernel import scopes

pytestmark = pytest.mark.both_databases


@pytest.mark.covers("K01")
def test_an_account_has_its_own_scope(tmp_path: Path) -> None:
    """What belongs to a person only is written under it."""
    instance.founded(tmp_path / "db")
    with instance.transaction(tmp_path / "db") as tx:
        made = people.add(tx, name="Eve", operator=False)
        assert people.read(tx, made.id) == made
        assert scopes.lock(tx, scopes.account(made.id))
        assert people.read(tx, "missing") is None
    assert invariants.check(tmp_path / "db") == []


def test_the_first_operator_stays_the_operator_of_the_terminal(tmp_path: Path) -> None:
    """The control socket acts as one account, whoever is added later."""
    found = instance.founded(tmp_path / "db")
    with instance.transaction(tmp_path / "db") as tx:
        people.add(tx, name="Second", operator=True)
        people.add(tx, name="Eve", operator=False)
        assert people.operator(tx) == found.operator.person
        assert found.operator.person.operator
