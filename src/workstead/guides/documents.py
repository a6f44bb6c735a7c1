"""Documents: the allow-list of what can be read here; guides of the package and pages of the manual."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from workstead import errors

_HERE = Path(__file__).parent
# In an installed package the manual's pages stand beside the guides, in the repository under docs.
_MANUALS = (_HERE.parent / "docs", _HERE.parents[2] / "docs")


@dataclass(frozen=True, kw_only=True)
class Document:
    """One document. manual: a page of the manual, which is written for people first."""

    name: str
    title: str
    description: str
    manual: bool = False


DOCUMENTS: tuple[Document, ...] = (
    Document(
        name="getting-started",
        title="Getting started",
        description="For an assistant: first calls, how to change things safely, what a refusal asks of you.",
    ),
    Document(
        name="concepts",
        title="Concepts",
        description="Project, card, record, version, workflow, run, activation, evidence.",
    ),
    Document(name="planning", title="Planning cards", description="What a good card is, and how to make several."),
    Document(name="reviewing", title="Reviewing work", description="What to read before judging, and how to say it."),
    Document(
        name="runs",
        title="Runs and controls",
        description="Start, pause, resume, stop; following a run and finding out why it ended.",
    ),
    Document(
        name="refusals",
        title="Refusals and error codes",
        description="The shape of a refusal, the codes you will meet, errors of the protocol.",
    ),
    Document(
        name="assistants",
        title="Manual: assistants",
        description="Every tool, permission, operation and refusal code, with the names they had elsewhere.",
        manual=True,
    ),
    Document(
        name="workflow",
        title="Manual: workflows",
        description="The format of a project's configuration: agents, card types, steps, outcomes.",
        manual=True,
    ),
    Document(
        name="models",
        title="Manual: models",
        description="Providers, routes, fallbacks and failure classes of model calls.",
        manual=True,
    ),
    Document(
        name="boundary",
        title="Manual: boundary",
        description="What a command can reach, and what the isolation levels mean.",
        manual=True,
    ),
)

_FILES = {"assistants": "mcp"}
_BY_NAME = {each.name: each for each in DOCUMENTS}


def find(name: str) -> Document:
    """A document by its name; raises `not_found`. Nothing else on the disk can be named."""
    found = _BY_NAME.get(name)
    if found is None:
        raise errors.not_found("guide", name[:80])
    return found


@cache
def text(name: str) -> str:
    """A document's Markdown. Raises `not_found`, and `unavailable` where the manual was not installed."""
    found = find(name)
    if not found.manual:
        return (_HERE / "texts" / f"{name}.md").read_text(encoding="utf-8")
    for folder in _MANUALS:
        path = folder / f"{_FILES.get(name, name)}.md"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise errors.unavailable("guide_missing", f"The page {name!r} of the manual is not installed here.")
