"""The printed table: whole, and in step with the operations it names (W20)."""

from pathlib import Path

import pytest

from workstead import catalogue
from workstead.doors.rest import openapi, table
from workstead.doors.rest.table import ROUTES, Route
from workstead.kernel.operations import AnyOperation, Door, Effect

OPERATIONS: dict[str, AnyOperation] = {
    one.name: one for one in catalogue.operations_table(data_folder=Path("/nowhere"))
}

pytestmark = pytest.mark.covers("W20")

COVERS_MODULES = ("catalogue.py",)


def test_every_operation_of_this_door_has_an_address() -> None:
    """doors.md, "REST and pages"."""
    assert table.missing(OPERATIONS.values()) == ()


@pytest.mark.parametrize("route", ROUTES, ids=lambda one: f"{one.method} {one.path}")
def test_an_address_names_fields_of_its_operation(route: Route) -> None:
    """A field in the address that the input lacks would be refused with every call."""
    operation = OPERATIONS[route.operation]
    assert Door.REST in operation.doors
    assert set(route.in_path) <= set(openapi.fields(operation))
    assert (route.method == "GET") == (operation.effect is Effect.READ)


def test_no_two_lines_have_the_same_address() -> None:
    """The second would never be reached; a literal step stands before a field at the same place."""
    seen = [(one.method, one.path) for one in ROUTES]
    assert len(seen) == len(set(seen))
    shapes = [
        (one.method, [step if not step.startswith("{") else "*" for step in one.path.split("/")]) for one in ROUTES
    ]
    for index, (method, steps) in enumerate(shapes):
        for earlier_method, earlier in shapes[:index]:
            hides = earlier_method == method and len(earlier) == len(steps)
            assert not (hides and all(a in {"*", b} for a, b in zip(earlier, steps, strict=True))), steps
