"""The generated part of docs/rest.md: every address of the API, from its table and the table of operations."""

import sys
from collections.abc import Iterator

from plugin import catalogue
from rules import tree
from workstead.accounts.permission_table import least_role
from workstead.doors import http
from workstead.doors.rest.openapi import fields
from workstead.doors.rest.table import ROUTES, Route
from workstead.errors import Kind
from workstead.kernel.operations import AnyOperation

DOCUMENT = tree.DOCS / "rest.md"


def rendered() -> str:
    """The generated part of the document."""
    return "\n".join([catalogue.MARK, "", *_addresses(), "", *_statuses(), ""])


def main() -> None:
    """Write the generated part again."""
    kept = DOCUMENT.read_text(encoding="utf-8").partition(catalogue.MARK)[0]
    DOCUMENT.write_text(kept + rendered(), encoding="utf-8")
    sys.stdout.write(f"{tree.name(DOCUMENT)} is written.\n")


def _addresses() -> Iterator[str]:
    known = {each.name: each for each in catalogue.operations()}
    yield from (
        "## Addresses",
        "",
        "| request | does | fields beside the address | least role | status |",
        "|---|---|---|---|---|",
    )
    for route in ROUTES:
        operation = known[route.operation]
        role = least_role(operation.permissions)
        given = _given(route, operation)
        yield f"| `{route.method} {route.path}` | {operation.summary} | {given} | {role} | {route.status} |"


def _given(route: Route, operation: AnyOperation) -> str:
    names = sorted(set(fields(operation)) - set(route.in_path))
    where = "body" if route.has_body else "query"
    return f"{where}: {', '.join(f'`{name}`' for name in names)}" if names else "none"


def _statuses() -> Iterator[str]:
    yield from ("## Statuses of refusals", "", "| kind | status |", "|---|---|")
    for kind in sorted(Kind):
        yield f"| {kind.value.replace('_', ' ')} | {http.STATUS[kind]} |"


if __name__ == "__main__":
    main()
