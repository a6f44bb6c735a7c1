"""The shelf: the library of this product; its guides and prompts, and projects, cards and records by address."""

from collections.abc import Mapping, Sequence
from functools import partial

from workstead import errors
from workstead.doors.mcp.library import Argument, Library, Prompt, Resource, Run, Suggest, Template
from workstead.guides import documents, operations, prompts
from workstead.kernel import canonical
from workstead.kernel.media import Shown

MARKDOWN, JSON = "text/markdown", "application/json"
RECORD_LIMIT_BYTES = 512 * 1024

_SOURCES = {"getting-started": "stillmade://agent/guide", "workflow": "stillmade://sdk/block-authoring"}


def library() -> Library:
    """All of it."""
    return Library(
        resources=tuple(_guide(each) for each in documents.DOCUMENTS),
        templates=_TEMPLATES,
        prompts=tuple(_prompt(each) for each in prompts.PROMPTS),
        listed=_projects,
    )


async def project_names(run: Run, _: Mapping[str, str]) -> Sequence[str]:
    """The short names of the projects the caller sees."""
    found = await run("list_projects", {})
    return [each["slug"] for each in found["projects"]]


async def card_ids(run: Run, given: Mapping[str, str]) -> Sequence[str]:
    """The cards of the project that was named already."""
    if not given.get("project"):
        return ()
    found = await run("list_cards", {"project": given["project"]})
    return [each["card_id"] for each in found["cards"] if "card_id" in each]


async def record_names(run: Run, given: Mapping[str, str]) -> Sequence[str]:
    """The records of the card that was named already."""
    if not given.get("project") or not given.get("card_id"):
        return ()
    found = await run("list_records", {"project": given["project"], "card_id": given["card_id"]})
    return [each["name"] for each in found["records"] if "name" in each]


async def _projects(run: Run) -> Sequence[Mapping[str, str]]:
    found = await run("list_projects", {})
    return [
        {
            "uri": f"workstead://projects/{each['slug']}",
            "name": each["slug"],
            "title": each["name"],
            "description": each["title"],
            "mimeType": JSON,
        }
        for each in found["projects"]
    ]


async def _project(run: Run, given: Mapping[str, str]) -> str:
    return canonical.text(await run("get_project", given))


async def _card(run: Run, given: Mapping[str, str]) -> str:
    return canonical.text(await run("get_card", given))


async def _record(run: Run, given: Mapping[str, str]) -> str:
    parts: list[str] = []
    offset: int | None = 0
    while offset is not None:
        found = await run("read_record", {**given, "offset": offset})
        if found["total_bytes"] > RECORD_LIMIT_BYTES:
            message = "This record is too long to be read whole; use the tool read_record, which reads in stretches."
            raise errors.invalid("record_too_long", message, total_bytes=found["total_bytes"])
        parts.append(found["content"])
        offset = found["next_offset"]
    return "".join(parts)


def _guide(document: documents.Document) -> Resource:
    return Resource(
        uri=operations.url(document.name),
        name=document.name,
        title=document.title,
        description=document.description,
        mime_type=MARKDOWN,
        read=partial(documents.text, document.name),
        source=_SOURCES.get(document.name, ""),
    )


def _prompt(one: prompts.Prompt) -> Prompt:
    def say(given: Mapping[str, str]) -> tuple[Shown, ...]:
        return (prompts.text(one, given),)

    return Prompt(
        name=one.name,
        title=one.title,
        description=one.description,
        arguments=tuple(
            Argument(
                name=each.name,
                description=each.description,
                required=each.required,
                suggest=_SUGGESTIONS.get(each.suggest),
            )
            for each in one.arguments
        ),
        say=say,
        source=one.source,
    )


_SUGGESTIONS: Mapping[str, Suggest] = {"project": project_names, "card": card_ids}
_TEMPLATES = (
    Template(
        uri_template="workstead://projects/{project}",
        name="project",
        title="A project",
        description="Its own card, counts by status, folder and owner, as JSON.",
        mime_type=JSON,
        read=_project,
        suggest={"project": project_names},
    ),
    Template(
        uri_template="workstead://projects/{project}/cards/{card_id}",
        name="card",
        title="A card",
        description="A card without its lists, as JSON.",
        mime_type=JSON,
        read=_card,
        suggest={"project": project_names, "card_id": card_ids},
    ),
    Template(
        uri_template="workstead://projects/{project}/cards/{card_id}/records/{name}",
        name="record",
        title="A record",
        description="The text of a card's record as it counts now.",
        mime_type=MARKDOWN,
        read=_record,
        suggest={"project": project_names, "card_id": card_ids, "name": record_names},
    ),
)
