"""The first start: what a fresh instance must hold before anybody can use it."""

from workstead.accounts import people
from workstead.kernel import scopes
from workstead.kernel.transaction import Tx


def seed(tx: Tx, *, operator_name: str) -> None:
    """Make the instance's scope and the operator's account unless they are there; later starts write nothing."""
    if not scopes.lock(tx, scopes.INSTANCE):
        scopes.create(tx, scopes.INSTANCE)
    if people.operator(tx) is None:
        people.add(tx, name=operator_name, operator=True)
