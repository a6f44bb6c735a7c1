"""Reasoning: the private parts of an answer as a row of a conversation; sent back to who made them, shown to nobody."""

from collections.abc import Mapping, Sequence
from typing import cast

from workstead.agents.conversations import NewRow, Row, RowKind
from workstead.agents.models.shape import Private, Role
from workstead.kernel import canonical
from workstead.kernel.canonical import Json


def new_row(private: Sequence[Private], *, input_id: str) -> NewRow:
    """The row before the answer that they belong to."""
    parts: list[Json] = [{"producer": one.producer, "before": one.before, "item": dict(one.item)} for one in private]
    return NewRow(kind=RowKind.PRIVATE, role=Role.ASSISTANT, content={"parts": parts}, input_id=input_id)


def of_row(row: Row) -> tuple[Private, ...]:
    """Read a stored one."""
    return tuple(
        Private(
            producer=cast("str", each["producer"]),
            before=cast("int", each["before"]),
            item=cast("Mapping[str, Json]", each["item"]),
        )
        for each in _parts(row)
    )


def hidden(row: Row) -> Json:
    """What anybody is shown of it."""
    count, size_bytes = len(_parts(row)), len(canonical.dump(row.content))
    return {"text": f"Reasoning that only its provider can read ({count} parts, {size_bytes} bytes)."}


def _parts(row: Row) -> list[Mapping[str, Json]]:
    return cast("list[Mapping[str, Json]]", cast("dict[str, Json]", row.content)["parts"])
