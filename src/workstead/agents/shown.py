"""Shown records: which version of a record an agent was shown, as far as the server knows it; never a model's text."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from workstead.agents.conversations import NewRow, Row, RowKind
from workstead.agents.models.shape import Role
from workstead.kernel.canonical import Json

Exposure = Literal["whole", "ends", "nothing"]


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One record as it was put before an agent. version: 0 where it was not an accepted one.

    digest: of the text. exposure: all of it, its two ends, or that nothing is written.
    """

    card_id: str
    record: str
    version: int
    digest: str
    exposure: Exposure

    @property
    def key(self) -> tuple[str, str]:
        """Which record it is."""
        return self.card_id, self.record

    def to_json(self) -> dict[str, Json]:
        """The stored form."""
        return {
            "card_id": self.card_id,
            "record": self.record,
            "version": self.version,
            "digest": self.digest,
            "exposure": self.exposure,
        }


def new_row(shown: Sequence[Shown]) -> NewRow:
    """The row that says what was shown."""
    return NewRow(kind=RowKind.SHOWN, role=Role.USER, content={"records": [one.to_json() for one in shown]})


def of_row(row: Row) -> tuple[Shown, ...]:
    """What a row says."""
    return of_json(cast("dict[str, Json]", row.content).get("records"))


def of_json(given: Json) -> tuple[Shown, ...]:
    """Read the stored form."""
    return tuple(_one(cast("Mapping[str, Json]", each)) for each in cast("list[Json]", given or []))


def newest(found: Iterable[Shown]) -> tuple[Shown, ...]:
    """The last of each record, in the order in which they were last shown."""
    latest: dict[tuple[str, str], Shown] = {}
    for one in found:
        latest.pop(one.key, None)
        latest[one.key] = one
    return tuple(latest.values())


def _one(given: Mapping[str, Json]) -> Shown:
    return Shown(
        card_id=cast("str", given["card_id"]),
        record=cast("str", given["record"]),
        version=cast("int", given["version"]),
        digest=cast("str", given["digest"]),
        exposure=cast("Exposure", given["exposure"]),
    )
