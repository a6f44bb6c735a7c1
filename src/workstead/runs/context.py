"""Context: the texts an agent is given at a node; facts and configured prompts, nothing invented."""

import hashlib
from dataclasses import dataclass

from workstead.agents.models.shape import Child
from workstead.agents.shown import Exposure, Shown
from workstead.agents.task import Prepared
from workstead.kernel.transaction import Tx
from workstead.runs.activations import Activation
from workstead.work import cards, records
from workstead.work.cards import Card
from workstead.work.workflow.graph import AgentNode, CardType, DescendantContext, EntrySpec, Prompt
from workstead.work.workflow.lifecycle import Entry

RECORD_LIMIT_BYTES = 32_768
RECORD_END_BYTES = 8_192

_DISCARDED = (
    "An earlier activation of this card was interrupted. Its position was discarded and nothing was replayed; look "
    "at the card, its records and the files before you act."
)


@dataclass(frozen=True, kw_only=True)
class Transition:
    """What leads into a node: a way in, or an accepted result of the node before."""

    text: str | None
    prompt: Prompt | None


@dataclass(frozen=True, kw_only=True)
class Stamp:
    """What a reviewer saw of one card below, for telling whether anything changed since."""

    card_id: str
    head_id: str
    records: tuple[tuple[str, str | None], ...]  # name, head id


Snapshot = tuple[Stamp, ...]


def by_entry(entry: Entry, spec: EntrySpec) -> Transition:
    """The transition of an activation's first node."""
    return Transition(text=_DISCARDED if entry is Entry.STOPPED else None, prompt=spec.prompt)


def by_edge(*, node: str, outcome: str, summary: str, urls: tuple[str, ...], prompt: Prompt | None) -> Transition:
    """The transition along an accepted edge."""
    lines = [f"The step `{node}` ended with `{outcome}`: {summary}"]
    lines += [f"Accepted record: {url}" for url in urls]
    return Transition(text="\n".join(lines), prompt=prompt)


def prepare(tx: Tx, card: Card, kind: CardType, *, node: AgentNode, activation: Activation) -> Prepared:
    """The block before the history: where the agent is, the brief, the parent's direction, the node's own text."""
    below = cards.children(tx, card.project_id, card.id)
    lines = [
        f"Card {card.id} ({card.type}): {card.title}",
        f"Status {card.status.value}, priority {card.priority}, urgency {card.urgency.value}.",
        *_children_lines(below),
    ]
    brief = _brief(tx, card, kind)
    if brief is not None:
        lines += ["", f"{kind.bootstrap_record}:", brief.text]
    if activation.direction is not None:
        lines += ["", "Direction of the parent card's agent, for this activation:", activation.direction]
    lines += ["", f"Step `{node.name}`:", node.prompt.text]
    children = {child.title: Child(card_id=child.id, status=child.status.value) for child in below}
    return Prepared(text="\n".join(lines), children=children, records=(brief.shown,) if brief is not None else ())


def descendants(tx: Tx, card: Card, wanted: DescendantContext) -> tuple[str, Snapshot, tuple[Shown, ...]]:
    """What a reviewing node is shown of every card below, the stamps that tell what it saw, and which versions."""
    texts = ["Records of the cards below, as they are now:"]
    stamps: list[Stamp] = []
    records_shown: list[Shown] = []
    for row in cards.rows(tx, card.project_id):
        if row.id == card.id or not _below(row.id, card.id):
            continue
        one = cards.read(tx, card.project_id, row.id)
        if one is None:
            continue
        texts.append(f"\n## {row.id} ({row.type}, {row.status.value}): {row.title}")
        seen: list[tuple[str, str | None]] = []
        for name in wanted.records:
            found = records.read(tx, card.project_id, row.id, name)
            seen.append((name, found.head.head_id if found is not None else None))
            now = records.effective(tx, found) if found is not None else None
            body = _bounded(row.id, name, now) if now is not None else None
            texts.append(f"### {name} <{records.url(row.id, name)}>\n{body.text if body else '(nothing was written)'}")
            records_shown += [body.shown] if body is not None else []
        stamps.append(Stamp(card_id=row.id, head_id=one.head.head_id, records=tuple(seen)))
    if not stamps:
        texts.append("(there are no cards below)")
    return "\n".join(texts), tuple(stamps), tuple(records_shown)


def _below(card_id: str, ancestor: str) -> bool:
    return ancestor == "project" or card_id.startswith(f"{ancestor}-")


def _children_lines(below: tuple[cards.CardRow, ...]) -> list[str]:
    if not below:
        return ["It has no child cards."]
    lines = ["Its child cards:"]
    for child in below:
        needs = f", after {', '.join(child.depends_on)}" if child.depends_on else ""
        lines.append(f"- {child.id} ({child.type}, {child.status.value}{needs}): {child.title}")
    return lines


@dataclass(frozen=True, kw_only=True)
class _Body:
    """A record's text as it is put before an agent, and what is known of it."""

    text: str
    shown: Shown


def _brief(tx: Tx, card: Card, kind: CardType) -> _Body | None:
    """The accepted brief, always whole: it is what the card is measured by."""
    name = kind.bootstrap_record
    found = records.read(tx, card.project_id, card.id, name)
    if found is None or not found.accepted:
        return None
    text = records.content(tx, found, found.accepted)
    return _Body(text=text, shown=_shown(card.id, name, text, version=found.accepted, exposure="whole"))


def _bounded(card_id: str, name: str, now: records.Effective) -> _Body:
    """A record of another card; of a very long one its two ends, and how much stands between them."""
    version = now.version if now.source is records.Source.ACCEPTED else 0
    raw = now.content.encode("utf-8", "surrogatepass")
    if len(raw) <= RECORD_LIMIT_BYTES:
        text = now.content
    else:
        head = raw[:RECORD_END_BYTES].decode("utf-8", "ignore")
        tail = raw[-RECORD_END_BYTES:].decode("utf-8", "ignore")
        left_out = len(raw) - len(head.encode()) - len(tail.encode())
        text = f"{head}\n[... {left_out} bytes are left out here; read the record ...]\n{tail}"
    exposure: Exposure = "whole" if text == now.content else "ends"
    return _Body(text=text, shown=_shown(card_id, name, now.content, version=version, exposure=exposure))


def _shown(card_id: str, name: str, text: str, *, version: int, exposure: Exposure) -> Shown:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return Shown(card_id=card_id, record=name, version=version, digest=digest, exposure=exposure)
