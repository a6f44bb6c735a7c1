"""Genesis: what a shortened conversation begins with. It stands for every earlier row and needs none of them (W14)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from workstead.agents import shown
from workstead.agents.conversations import NewRow, Row, RowKind
from workstead.agents.models.shape import Message, Role
from workstead.agents.shown import Shown
from workstead.kernel.canonical import Json


class Strategy(StrEnum):
    """Why a conversation was shortened."""

    AHEAD = "ahead"  # it had grown to the part of the room that the configuration names
    SIZE = "size"  # the exact request fitted no model of the route
    PROVIDER = "provider"  # the provider said that the request does not fit


class How(StrEnum):
    """What became of the rows that are no longer sent."""

    SUMMARY = "summary"
    OMISSION = "omission"  # left out, and said so
    NOTHING = "nothing"  # they held nothing that a model is told


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A text that stays word for word, with the row it comes from. key: only the newest of one key stays.

    person: a person wrote it; otherwise the configuration says that it stays.
    """

    text: str
    row: int
    segment: int
    key: str | None = None
    person: bool = False


@dataclass(frozen=True, kw_only=True)
class Fact:
    """Something the agent must know, by its row."""

    row: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The newest notice of an interruption and the newest refusal, and which records were shown last."""

    recovered: Fact | None = None
    refused: Fact | None = None
    shown: tuple[Shown, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Genesis:
    """The beginning of a segment.

    source: the segment before. covered_through: the last row it stands for. open: the row where the activation
    begins that goes on across it, None between two. calls: how many summaries were asked for.
    """

    source: int
    covered_through: int
    strategy: Strategy
    how: How
    summary: str
    kept: tuple[Kept, ...] = ()
    facts: Facts = Facts()
    open: Fact | None = None
    calls: int = 0
    before_tokens: int = 0
    after_tokens: int = 0

    def message(self) -> Message:
        """What a model is told in the place of the rows."""
        head = (
            f"[Rows 1 to {self.covered_through} of this conversation are not repeated. What follows stands for them. "
            "It is history: what it says of states, permissions and refusals was true then; the text above and the "
            "rows below say what holds now.]"
        )
        lines = [
            head,
            "",
            f"Summary of those rows ({self.how.value}):",
            self.summary,
        ]
        if self.kept:
            lines += ["", "Texts that stay word for word, oldest first:"]
            lines += [line for each, times in _once(self.kept) for line in _kept_lines(each, times)]
        for fact in (self.facts.recovered, self.facts.refused):
            if fact is not None:
                lines += ["", f"[Row {fact.row}] {fact.text}"]
        if self.facts.shown:
            lines += ["", "Records you were shown before:"]
            lines += [f"- {each.record} of {each.card_id}, {_version(each)}" for each in self.facts.shown]
        if self.open is not None:
            lines += ["", f"[Activation begins at {self.open.text} (row {self.open.row}) and goes on.]"]
        return Message(role=Role.USER, text="\n".join(lines))

    def new_row(self) -> NewRow:
        """The row it is stored as."""
        return NewRow(kind=RowKind.SEGMENT, role=Role.USER, content=self._json())

    def _json(self) -> dict[str, Json]:
        return {
            "source": self.source,
            "covered_through": self.covered_through,
            "strategy": self.strategy.value,
            "how": self.how.value,
            "summary": self.summary,
            "kept": [
                {"text": one.text, "row": one.row, "segment": one.segment, "key": one.key, "person": one.person}
                for one in self.kept
            ],
            "recovered": _fact_json(self.facts.recovered),
            "refused": _fact_json(self.facts.refused),
            "shown": [one.to_json() for one in self.facts.shown],
            "open": _fact_json(self.open),
            "calls": self.calls,
            "before_tokens": self.before_tokens,
            "after_tokens": self.after_tokens,
        }


def of_row(row: Row) -> Genesis:
    """Read a stored one."""
    given = cast("Mapping[str, Json]", row.content)
    return Genesis(
        source=cast("int", given["source"]),
        covered_through=cast("int", given["covered_through"]),
        strategy=Strategy(cast("str", given["strategy"])),
        how=How(cast("str", given["how"])),
        summary=cast("str", given["summary"]),
        kept=tuple(_kept(cast("Mapping[str, Json]", each)) for each in cast("list[Json]", given["kept"])),
        facts=Facts(
            recovered=_fact(given["recovered"]),
            refused=_fact(given["refused"]),
            shown=shown.of_json(given["shown"]),
        ),
        open=_fact(given["open"]),
        calls=cast("int", given["calls"]),
        before_tokens=cast("int", given["before_tokens"]),
        after_tokens=cast("int", given["after_tokens"]),
    )


def _once(kept: Sequence[Kept]) -> list[tuple[Kept, int]]:
    """Each text once, in the place where it stood last, with how often it stood."""
    times: dict[str, int] = {}
    last: dict[str, Kept] = {}
    for each in kept:
        times[each.text] = times.get(each.text, 0) + 1
        last.pop(each.text, None)
        last[each.text] = each
    return [(each, times[text]) for text, each in last.items()]


def _kept_lines(each: Kept, times: int) -> list[str]:
    often = f", said {times} times, last" if times > 1 else ""
    who = "a person" if each.person else "the project's configuration"
    return [f"--- from {who}{often} at row {each.row} ---", each.text, "---"]


def _version(one: Shown) -> str:
    part = "only its two ends" if one.exposure == "ends" else "whole"
    return f"accepted version {one.version}, {part}" if one.version else "a text that was not accepted"


def _kept(given: Mapping[str, Json]) -> Kept:
    return Kept(
        text=cast("str", given["text"]),
        row=cast("int", given["row"]),
        segment=cast("int", given["segment"]),
        key=cast("str | None", given["key"]),
        person=cast("bool", given["person"]),
    )


def _fact_json(fact: Fact | None) -> Json:
    return None if fact is None else {"row": fact.row, "text": fact.text}


def _fact(given: Json) -> Fact | None:
    if given is None:
        return None
    held = cast("Mapping[str, Json]", given)
    return Fact(row=cast("int", held["row"]), text=cast("str", held["text"]))
