"""K20: every permission is used by a test, so that none is only a word."""

import importlib
import importlib.util
import re
from enum import Enum

from rules import tree

MODULE = "workstead.kernel.access"


def permissions() -> list[Enum]:
    """The members of `Permission`; none as long as the module does not exist."""
    if importlib.util.find_spec(MODULE) is None:
        return []
    return list(importlib.import_module(MODULE).Permission)


def test_every_permission_is_used_by_a_test() -> None:
    """quality.md, tests: permissions without a test fail."""
    text = "\n".join(
        path.read_text(encoding="utf-8")
        for path in tree.files(tree.TESTS, ".py")
        if "rules" not in path.relative_to(tree.TESTS).parts
    )
    unused = [
        str(permission.value)
        for permission in permissions()
        if not re.search(rf"\bPermission\.{permission.name}\b|[\"']{re.escape(str(permission.value))}[\"']", text)
    ]
    assert not unused


def test_permissions_are_named_area_and_verb_in_order() -> None:
    """Glossary: `area:verb`; house style, line 16: one alphabetical enum."""
    values = [str(permission.value) for permission in permissions()]
    assert [value for value in values if not re.fullmatch(r"[a-z_]+:[a-z_]+", value)] == []
    assert values == sorted(values)
