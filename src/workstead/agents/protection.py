"""Protection: which texts of a conversation stay word for word when it is shortened (W14). Pure.

Prompts whose configuration says `compactable: false` stay, of one `compaction_key` the newest. What people said stays
up to a bound, newest first; what is older is summarised like everything else. The card's brief, the parent's direction
and the agent's instructions need no protection: they are read anew and sent whole with every call.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from workstead.agents.conversations import Row
from workstead.agents.genesis import Kept
from workstead.kernel.canonical import Json
from workstead.work.workflow.graph import Prompt

_KEEP = "keep"


@dataclass(frozen=True, kw_only=True)
class Protection:
    """kept: in the order in which they stood. released: what was kept until now and is no longer."""

    kept: tuple[Kept, ...]
    released: tuple[Kept, ...]


def of_prompt(prompt: Prompt) -> dict[str, Json]:
    """A prompt as the content of a row: where it comes from, and whether it stays."""
    content: dict[str, Json] = {"text": prompt.text, "origin": "workflow_prompt"}
    return content if prompt.compactable else content | {_KEEP: {"key": prompt.key, "person": False}}


def of_person(text: str) -> dict[str, Json]:
    """What a person said as the content of a row."""
    return {"text": text, _KEEP: {"key": None, "person": True}}


def kept_of(row: Row) -> Kept | None:
    """The protected text of a row, None where it has none."""
    content = row.content if isinstance(row.content, dict) else {}
    keep = content.get(_KEEP)
    if not isinstance(keep, dict):
        return None
    return Kept(
        text=cast("str", content["text"]),
        row=row.number,
        segment=row.segment,
        key=cast("str | None", keep["key"]),
        person=cast("bool", keep["person"]),
    )


def choose(inherited: Sequence[Kept], covered: Sequence[Row], tail: Sequence[Row], *, words_bytes: int) -> Protection:
    """What stays of the texts kept until now and of the rows that go. tail: the rows that are still sent.

    words_bytes: how much of what people said stays.
    """
    found = [*inherited, *_all(covered)]
    newer = {each.key for each in _all(tail) if each.key is not None}
    chosen: list[Kept] = []
    for each in reversed(found):
        if each.person:
            words_bytes -= len(each.text.encode("utf-8", "surrogatepass"))
            if words_bytes >= 0:
                chosen.append(each)
        elif each.key is None or each.key not in newer:
            chosen.append(each)
            newer.update([each.key] if each.key is not None else [])
    kept = tuple(reversed(chosen))
    return Protection(kept=kept, released=tuple(each for each in inherited if each not in kept))


def _all(rows: Iterable[Row]) -> list[Kept]:
    return [kept for kept in (kept_of(row) for row in rows) if kept is not None]
