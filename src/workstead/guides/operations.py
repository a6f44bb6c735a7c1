"""Operations of the documentation: search it, read a document in stretches."""

from dataclasses import dataclass

from pydantic import Field

from workstead.guides import documents, search
from workstead.guides.documents import DOCUMENTS
from workstead.kernel import paging, scopes
from workstead.kernel.access import Caller, Permission
from workstead.kernel.operations import AnyOperation, Door, Effect, Input, Operation, Reach
from workstead.kernel.transaction import Tx

RESULTS = 5
RESULTS_MOST = 20
# As JSON a text takes at most twice the room, and an answer has twice as much.
STRETCH_BYTES = paging.LIMIT_BYTES_MAX // 2

_DOORS = frozenset({Door.CLI, Door.MCP, Door.PAGE, Door.REST})
_READING = frozenset({Permission.CATALOG_READ})
_NAMES = ", ".join(each.name for each in DOCUMENTS)


class SearchDocumentation(Input):
    """What to look for."""

    query: str = Field(min_length=1, max_length=400, description="A few words, as: stale revision, pause a run.")
    limit: int = Field(default=RESULTS, ge=1, le=RESULTS_MOST, description="How many passages at most.")
    offset: int = Field(default=0, ge=0, description="How many to pass over: `next_offset` of the page before.")


class ReadDocumentation(Input):
    """Which document."""

    name: str = Field(min_length=1, max_length=80, description=f"One of: {_NAMES}.")
    offset: int = Field(default=0, ge=0, description="Byte to start at: `next_offset` of the stretch before.")


@dataclass(frozen=True, kw_only=True)
class PassageFound:
    """One passage. name: of its document, as read_documentation takes it. url: its address as a resource."""

    name: str
    title: str
    url: str
    heading: str
    excerpt: str


@dataclass(frozen=True, kw_only=True)
class PassagePage:
    """The best first. next_offset: None at the end."""

    passages: tuple[PassageFound, ...]
    total: int
    next_offset: int | None


@dataclass(frozen=True, kw_only=True)
class DocumentText:
    """A document's Markdown, or a stretch of it."""

    name: str
    title: str
    url: str
    content: str
    offset: int
    next_offset: int | None
    total_bytes: int


def find(_: Tx, __: Caller, args: SearchDocumentation) -> PassagePage:
    """The passages that hold words of the query."""
    found = search.find(args.query)
    shown = found[args.offset : args.offset + args.limit]
    end = args.offset + len(shown)
    return PassagePage(
        passages=tuple(
            PassageFound(
                name=each.document,
                title=documents.find(each.document).title,
                url=url(each.document),
                heading=each.heading,
                excerpt=search.excerpt(each, args.query),
            )
            for each in shown
        ),
        total=len(found),
        next_offset=end if shown and end < len(found) else None,
    )


def read(_: Tx, __: Caller, args: ReadDocumentation) -> DocumentText:
    """One document; raises `not_found`."""
    document = documents.find(args.name)
    text = documents.text(document.name)
    part = paging.slice_text(text, offset_bytes=args.offset, limit_bytes=STRETCH_BYTES)
    return DocumentText(
        name=document.name,
        title=document.title,
        url=url(document.name),
        content=part.text,
        offset=part.offset_bytes,
        next_offset=part.next_offset_bytes,
        total_bytes=part.total_bytes,
    )


def url(name: str) -> str:
    """A document's address as a resource."""
    return f"workstead://guides/{name}"


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        name="search_documentation",
        summary="Search the guides and the manual by words; shows the passages that fit best.",
        input=SearchDocumentation,
        output=PassagePage,
        permissions=_READING,
        effect=Effect.READ,
        doors=_DOORS,
        handler=find,
        lock=lambda _, __: scopes.INSTANCE,
        reach=Reach.KEY,
        exact=True,  # packaged text, whose examples of keys hide nothing
    ),
    Operation(
        name="read_documentation",
        summary="Read one guide or page of the manual, in stretches if it is long.",
        input=ReadDocumentation,
        output=DocumentText,
        permissions=_READING,
        effect=Effect.READ,
        doors=_DOORS,
        handler=read,
        lock=lambda _, __: scopes.INSTANCE,
        reach=Reach.KEY,
        exact=True,  # packaged text, whose examples of keys hide nothing
    ),
)
