"""Comments: what people and assistants say about a card. A comment starts, answers and ends nothing by itself (W29)."""

from dataclasses import dataclass
from typing import Annotated, cast

from pydantic import Field
from sqlalchemy import bindparam, insert, select

from workstead import errors
from workstead.accounts import projects
from workstead.kernel import feed
from workstead.kernel.access import Author, Caller, Permission
from workstead.kernel.operations import AnyOperation, Effect, Operation
from workstead.kernel.store import Row, prepared
from workstead.kernel.transaction import Tx
from workstead.work import cards, rules
from workstead.work.card_operations import CardId
from workstead.work.rules import PEOPLES_DOORS, ProjectWrite
from workstead.work.tables import comment
from workstead.work.workflow import identity

TEXT_LIMIT_CHARS = 16_000


class CommentOnCard(ProjectWrite):
    """Say something about a card."""

    card_id: CardId = Field(description="The card's id, as in card-a-b.")
    text: Annotated[str, Field(min_length=1, max_length=TEXT_LIMIT_CHARS)] = Field(description="In Markdown.")


@dataclass(frozen=True, kw_only=True)
class Comment:
    """One comment."""

    id: str
    card_id: str
    at: str
    author: Author
    text: str


_COLUMNS = (
    comment.c.id,
    comment.c.card_id,
    comment.c.at,
    comment.c.author_kind,
    comment.c.author_name,
    comment.c.text,
)
_ADD = prepared(insert(comment))
_NEWEST = prepared(
    select(*_COLUMNS)
    .where(
        comment.c.project_id == bindparam("k_project_id"),
        comment.c.card_id == bindparam("k_card_id"),
        comment.c.at <= bindparam("k_until"),
    )
    .order_by(comment.c.at.desc(), comment.c.id.desc())
    .limit(bindparam("k_limit"))
    .offset(bindparam("k_offset"))
)


def add(tx: Tx, caller: Caller, args: CommentOnCard) -> Comment:
    """Write a comment. Raises `card_not_found`, and `invalid` for a text of nothing but blanks."""
    project = projects.visible(tx, caller, args.project)
    one = cards.find(tx, project, identity.check_card_id(args.card_id))
    if not args.text.strip():
        issue = errors.Issue(path="text", message="say something")
        raise errors.invalid("comment_empty", "A comment needs a text.", issues=[issue])
    made = Comment(id=tx.new_id(), card_id=one.id, at=tx.at, author=caller.author, text=args.text)
    tx.run(
        _ADD,
        id=made.id,
        project_id=project.id,
        card_id=made.card_id,
        at=made.at,
        author_kind=made.author.kind,
        author_name=made.author.name,
        text=made.text,
    )
    feed.add(tx, project.scope, feed.Event.CARD_COMMENTED, topic=cards.topic(one.id))
    return made


def newest(tx: Tx, project_id: str, card_id: str, *, until: str, limit: int) -> tuple[Comment, ...]:
    """Comments of a card up to a moment, newest first."""
    found = tx.all(_NEWEST, k_project_id=project_id, k_card_id=card_id, k_until=until, k_limit=limit, k_offset=0)
    return tuple(_comment(row) for row in found)


def _comment(row: Row) -> Comment:
    identity_, card_id, at, kind, name, text = (cast("str", each) for each in row)
    return Comment(id=identity_, card_id=card_id, at=at, author=Author(kind=kind, name=name), text=text)


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        name="comment_on_card",
        summary="Say something about a card; it starts, answers and ends nothing by itself.",
        input=CommentOnCard,
        output=Comment,
        permissions=frozenset({Permission.PROJECTS_WRITE}),
        effect=Effect.WRITE,
        doors=PEOPLES_DOORS,
        handler=add,
        lock=rules.lock,
    ),
)
