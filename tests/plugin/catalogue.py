"""The published catalogue (D12): docs/mcp.md, made from the table of operations and the refusals in the source."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from plugin import source_names
from rules import tree
from workstead import catalogue, errors
from workstead.accounts.permission_table import HOLDERS, MEANINGS, least_role
from workstead.doors.mcp import shelf
from workstead.kernel.access import GRANTABLE, Permission
from workstead.kernel.acts import AnyAct
from workstead.kernel.operations import AnyOperation, Door

DOCUMENT = tree.DOCS / "mcp.md"
MARK = "<!-- from here on made by `./dev catalogue` -->"

_KINDS = {"busy", "conflict", "denied", "invalid", "limit", "unavailable"}


def operations() -> tuple[AnyOperation, ...]:
    """Every operation, by name."""
    return tuple(sorted(catalogue.operations_table(data_folder=Path("/nowhere")), key=lambda each: each.name))


def acts() -> tuple[AnyAct, ...]:
    """Every act, by name."""
    return tuple(sorted(catalogue.described(), key=lambda each: each.name))


def entries() -> tuple[AnyOperation | AnyAct, ...]:
    """Everything a door can offer, by name."""
    return tuple(sorted([*operations(), *acts()], key=lambda each: each.name))


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
    parts = (_tools(), _resources(), _prompts(), _permissions(), _everything(), _refusals())
    return "\n".join([MARK, *(line for part in parts for line in ("", *part)), ""])


def main() -> None:
    """Write the generated part again."""
    kept = DOCUMENT.read_text(encoding="utf-8").partition(MARK)[0]
    DOCUMENT.write_text(kept + rendered(), encoding="utf-8")
    sys.stdout.write(f"{tree.name(DOCUMENT)} is written.\n")


def _tools() -> Iterator[str]:
    yield from ("## Tools", "", "| tool | does | permissions | effect | elsewhere |", "|---|---|---|---|---|")
    for each in entries():
        if Door.MCP in each.doors:
            elsewhere = source_names.TOOLS.get(each.name, "")
            yield f"| `{each.name}` | {each.summary} | {_list(each.permissions)} | {each.effect.value} | {elsewhere} |"


def _resources() -> Iterator[str]:
    library = shelf.library()
    yield from ("## Resources", "", "| address | is | kind | elsewhere |", "|---|---|---|---|")
    for each in library.resources:
        yield f"| `{each.uri}` | {each.title}. {each.description} | {each.mime_type} | {each.source} |"
    for template in library.templates:
        yield f"| `{template.uri_template}` | {template.title}. {template.description} | {template.mime_type} | |"


def _prompts() -> Iterator[str]:
    yield from ("## Prompts", "", "| prompt | does | arguments | elsewhere |", "|---|---|---|---|")
    for each in shelf.library().prompts:
        given = ", ".join(f"`{one.name}`{'' if one.required else ' (optional)'}" for one in each.arguments)
        yield f"| `{each.name}` | {each.description} | {given} | {each.source} |"


def _permissions() -> Iterator[str]:
    heads = "".join(f" {name} |" for name in HOLDERS)
    yield from (
        "## Roles and permissions",
        "",
        "A person has what their role in a project gives. An assistant has what was allowed for it, and never more",
        "than the person behind it has at that moment.",
        "",
        f"| permission | is for |{heads} an assistant |",
        f"|---|---|{'---|' * len(HOLDERS)}---|",
    )
    for each in Permission:
        held = "".join(f" {'yes' if each in held else '-'} |" for held in HOLDERS.values())
        yield f"| `{each.value}` | {MEANINGS[each]} |{held} {'can hold it' if each in GRANTABLE else 'never'} |"


_DOORS = (
    "*agent*: a tool of a project's agents; *cli*: through the control socket, though not each has its own command;\n"
    "*mcp*: a tool of assistants; *page*; *rest*: an address of the [API](rest.md)."
)


def _everything() -> Iterator[str]:
    yield from ("## Every operation", "", _DOORS, "", "| operation | least role | doors |", "|---|---|---|")
    for each in entries():
        yield f"| `{each.name}` | {least_role(each.permissions)} | {', '.join(sorted(each.doors))} |"


def _refusals() -> Iterator[str]:
    yield from ("## Refusals", "", "| code | kind | advice | elsewhere |", "|---|---|---|---|")
    for code, kinds in refusals().items():
        advices = {errors.Refusal(kind=errors.Kind(kind), code=code, message="").advice.value for kind in kinds}
        said = ", ".join(sorted(kinds)).replace("_", " ")
        elsewhere = source_names.CODES.get(code, "")
        yield f"| `{code}` | {said} | {' or '.join(sorted(advices))} | {elsewhere} |"


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
