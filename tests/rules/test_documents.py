"""House style, lines 68 to 70: what the documents promise is there, and what is there is documented."""

import re

import pytest

from rules import tree
from workstead import settings

LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)\s#]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("setting", settings.SETTINGS, ids=lambda setting: setting.key)
def test_every_setting_is_documented_with_its_variable_and_default(setting: settings.Setting) -> None:
    """House style, line 69."""
    default = setting.default if setting.default not in ([], None) else "none"
    row = rf"\| `{setting.key}` \| `{setting.variable}` \| `?{re.escape(str(default))}`? \|"
    assert re.search(row, configuration()), f"no row in docs/configuration.md matches {row}"


def test_every_variable_in_the_documentation_exists() -> None:
    """A person who sets it must not be refused."""
    known = {setting.variable for setting in settings.SETTINGS}
    known |= {settings.DATA_VARIABLE, *settings.OTHER_VARIABLES}
    named = set(re.findall(r"\bWORKSTEAD_[A-Z_]*[A-Z]", configuration()))
    strange = {name for name in named - known if not f"{name}_".startswith(settings.OTHER_PREFIXES)}
    assert not strange


def test_relative_links_lead_to_files() -> None:
    """House style, line 68: documents are checked."""
    broken = [
        f"{tree.name(path)}: {target}"
        for path in tree.files(tree.ROOT, ".md")
        if not tree.name(path).startswith("examples/")
        for target in LINK.findall(path.read_text(encoding="utf-8"))
        if not (path.parent / target).exists()
    ]
    assert not broken, "\n".join(broken)


def test_every_place_in_the_architecture_exists() -> None:
    """House style, line 70: the only concept-to-file list must not lie, once there is a program."""
    if not (tree.SOURCE / "app.py").exists():
        return
    text = (tree.DOCS / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [^|]+ \| ((?:`[^`]+`(?:, )?)+) \|", text, re.MULTILINE)
    places = [place for row in rows for place in re.findall(r"`([^`]+)`", row)]
    assert places
    missing = [place for place in places if not any(tree.SOURCE.glob(place))]
    assert not missing, "docs/architecture.md names what is not there: " + ", ".join(missing)


def configuration() -> str:
    """The page that documents settings."""
    return (tree.DOCS / "configuration.md").read_text(encoding="utf-8")
