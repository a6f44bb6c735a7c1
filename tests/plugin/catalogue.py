"""The published catalogue (D12): docs/mcp.md, made from the table of operations and the refusals in the source."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from rules import tree
from workstead import catalogue, errors
from workstead.accounts import roles
from workstead.kernel.access import GRANTABLE, Permission
from workstead.kernel.acts import AnyAct
from workstead.kernel.operations import AnyOperation, Door
from workstead.runs.folder_acts import Means

DOCUMENT = tree.DOCS / "mcp.md"
MARK = "<!-- from here on made by `./dev catalogue` -->"

_KINDS = {"busy", "conflict", "denied", "invalid", "limit", "unavailable"}
_ROLES = {**{role.value: held for role, held in roles.PERMISSIONS.items()}, "operator": roles.OPERATOR}


def operations() -> tuple[AnyOperation, ...]:
    """Every operation, by name."""
    return tuple(sorted(catalogue.operations_table(data_folder=Path("/nowhere")), key=lambda each: each.name))


def acts() -> tuple[AnyAct, ...]:
    """Every act, by name; nothing is called, so there are no means."""
    return tuple(sorted(catalogue.acts_table(cast("Means", None)), key=lambda each: each.name))


def entries() -> tuple[AnyOperation | AnyAct, ...]:
    """Everything a door can offer, by name."""
    return tuple(sorted([*operations(), *acts()], key=lambda each: each.name))


def roles_of(permissions: frozenset[Permission]) -> str:
    """The least role that may, in a project of its own; `signed in` where none is needed."""
    if permissions <= roles.EVERYBODY:
        return "signed in"
    return next(name for name, held in _ROLES.items() if permissions <= held | roles.EVERYBODY)


def refusals() -> dict[str, frozenset[str]]:
    """Code -> its kinds, of every refusal that the source names."""
    found: dict[str, set[str]] = {"unauthenticated": {"unauthenticated"}}
    for path in tree.files(tree.SOURCE, ".py"):
        for node in ast.walk(tree.parsed(path)):
            if isinstance(node, ast.Call):
                for code, kind in _named(node):
                    found.setdefault(code, set()).add(kind)
    return {code: frozenset(kinds) for code, kinds in sorted(found.items())}


def rendered() -> str:
    """The generated part of the document."""
    return "\n".join([MARK, "", *_tools(), "", *_permissions(), "", *_everything(), "", *_refusals(), ""])


def main() -> None:
    """Write the generated part again."""
    kept = DOCUMENT.read_text(encoding="utf-8").partition(MARK)[0]
    DOCUMENT.write_text(kept + rendered(), encoding="utf-8")
    sys.stdout.write(f"{tree.name(DOCUMENT)} is written.\n")


def _tools() -> Iterator[str]:
    yield from ("## Tools", "", "| tool | does | permissions | effect |", "|---|---|---|---|")
    for each in entries():
        if Door.MCP in each.doors:
            yield f"| `{each.name}` | {each.summary} | {_list(each.permissions)} | {each.effect.value} |"


def _permissions() -> Iterator[str]:
    yield from (
        "## Permissions",
        "",
        "| permission | an assistant can hold it | least role that has it |",
        "|---|---|---|",
    )
    for each in Permission:
        holds = "yes" if each in GRANTABLE else "no"
        yield f"| `{each.value}` | {holds} | {roles_of(frozenset({each}))} |"


def _everything() -> Iterator[str]:
    yield from ("## Every operation", "", "| operation | least role | doors |", "|---|---|---|")
    for each in entries():
        yield f"| `{each.name}` | {roles_of(each.permissions)} | {', '.join(sorted(each.doors))} |"


def _refusals() -> Iterator[str]:
    yield from ("## Refusals", "", "| code | kind | advice |", "|---|---|---|")
    for code, kinds in refusals().items():
        advices = {errors.Refusal(kind=errors.Kind(kind), code=code, message="").advice.value for kind in kinds}
        said = ", ".join(sorted(kinds)).replace("_", " ")
        yield f"| `{code}` | {said} | {' or '.join(sorted(advices))} |"


def _list(permissions: frozenset[Permission]) -> str:
    return ", ".join(f"`{each.value}`" for each in sorted(permissions)) or "any"


def _named(call: ast.Call) -> Iterator[tuple[str, str]]:
    made = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    first = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
    if made in _KINDS and isinstance(first, str):
        yield first, made
    elif made in {"not_found", "stale"} and isinstance(first, str):
        yield f"{first.replace(' ', '_')}_{made}", made
    elif made == "Refusal":
        given = {each.arg: each.value for each in call.keywords}
        kind, code = given.get("kind"), given.get("code")
        if isinstance(kind, ast.Attribute) and isinstance(code, ast.Constant):
            yield str(code.value), errors.Kind[kind.attr].value


if __name__ == "__main__":
    main()
