"""The first start makes an operator; later ones change nothing (K01)."""

from pathlib import Path

import pytest

from support import database, instance, invariants
from support.database import statement
from workstead.accounts import first_start, people
from workstead.kernel import scopes

pytestmark = pytest.mark.both_databases

EVERYBODY = statement("SELECT id, name, operator FROM person")


@pytest.mark.covers("K01")
def test_a_fresh_instance_gets_its_scope_and_its_operator_once(tmp_path: Path) -> None:
    """A fresh local install needs no sign-up; a second start must not make a second operator."""
    path = tmp_path / "db"
    database.make(path)
    for name in ("ada", "somebody else"):
        with instance.transaction(path) as tx:
            first_start.seed(tx, operator_name=name)
    with instance.transaction(path) as tx:
        assert scopes.lock(tx, scopes.INSTANCE)
        operator = people.operator(tx)
        assert operator is not None
        assert tx.all(EVERYBODY) == [(operator.id, "ada", 1)]
    assert invariants.check(path) == []
