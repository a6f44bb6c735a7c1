"""Checks that a workflow holds together: recipient, entries, edges, and that every way through it ends."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from workstead.work.workflow import graph
from workstead.work.workflow.lifecycle import Entry
from workstead.work.workflow.reading import At


@dataclass(frozen=True, kw_only=True)
class _Placed:
    """An edge with the node it leaves and where it is written."""

    source: graph.AgentNode | graph.ActionNode
    edge: graph.Edge
    at: At


def check(workflow: graph.Workflow, at: At, *, complete: bool) -> None:
    """Record every mistake of the graph. complete: whether every node could be read."""
    placed = list(_edges(workflow, at))
    _check_recipient(workflow, at, complete=complete)
    _check_entries(workflow, at, complete=complete)
    for each in placed:
        _check_target(each, workflow, complete=complete)
        _check_exports(each)
        _check_pending(each, workflow, complete=complete)
    if complete and _is_closed(workflow):
        _check_ways(workflow, at)
        for each in placed:
            _check_promotion(each, workflow)


def _edges(workflow: graph.Workflow, at: At) -> Iterator[_Placed]:
    for node in workflow.nodes.values():
        if isinstance(node, graph.AgentNode):
            for edge in node.edges.values():
                where = at.find("nodes", node.name, "edges", edge.outcome)
                yield _Placed(source=node, edge=edge, at=where)
            continue
        for choice in node.edges.values():
            where = at.find("nodes", node.name, "edges", choice.outcome)
            for index, case in enumerate(choice.cases):
                yield _Placed(source=node, edge=case.edge, at=where.find("cases", index))
            yield _Placed(source=node, edge=choice.otherwise, at=where.find("otherwise"))


def _check_recipient(workflow: graph.Workflow, at: At, *, complete: bool) -> None:
    recipient = workflow.notification_recipient
    if complete and recipient and not any(_runs(node, recipient) for node in workflow.nodes.values()):
        at.find("notification_recipient").fail(f"`{recipient}` runs no node here; name one that does.")


def _check_entries(workflow: graph.Workflow, at: At, *, complete: bool) -> None:
    for entry, spec in workflow.entries.items():
        where = at.find("entries", entry.value, "node")
        if complete:
            where.missing(spec.node, "node", workflow.nodes)
        node = workflow.nodes.get(spec.node)
        recipient = workflow.notification_recipient
        if entry is Entry.STOPPED and node is not None and recipient and not _runs(node, recipient):
            where.fail(f"STOPPED must enter a node that the notification recipient `{recipient}` runs.")


def _check_target(each: _Placed, workflow: graph.Workflow, *, complete: bool) -> None:
    if complete and isinstance(each.edge.target, graph.NodeTarget):
        each.at.find("target", "node").missing(each.edge.target.node, "node", workflow.nodes)


def _check_exports(each: _Placed) -> None:
    if not isinstance(each.edge.target, graph.TerminalTarget):
        return
    for index, record in enumerate(each.edge.target.export_records):
        if record not in each.source.requirements:
            message = f"`{record}` cannot be exported; the node `{each.source.name}` does not require it."
            each.at.find("target", "export_records", index).fail(message)


def _check_pending(each: _Placed, workflow: graph.Workflow, *, complete: bool) -> None:
    target, pending = each.edge.target, each.edge.pending_notifications
    recipient = workflow.notification_recipient
    done = isinstance(target, graph.TerminalTarget) and target.status is graph.Terminal.DONE
    needs = done and bool(recipient) and not _runs(each.source, recipient)
    where = each.at.find("pending_notifications")
    if pending is None:
        if needs:
            message = (
                f"`{recipient}` gets this card's notices and does not run this node, so its DONE needs "
                "`pending_notifications: {node, prompt}` for when some wait."
            )
            each.at.fail(message)
        return
    if not needs and recipient:
        where.fail("Only a DONE edge of a node that the recipient does not run has this; remove it.")
    elif complete and not where.find("node").missing(pending.node, "node", workflow.nodes):
        node = workflow.nodes[pending.node]
        if not _runs(node, recipient):
            where.find("node").fail(f"This node must be run by the notification recipient `{recipient}`.")


def _is_closed(workflow: graph.Workflow) -> bool:
    """Whether every entry and edge leads to a node that is there, so that ways can be followed."""
    named = {entry.node for entry in workflow.entries.values()}
    named.update(name for node in workflow.nodes.values() for name in _next_nodes(node))
    return len(workflow.entries) == len(Entry) and named <= workflow.nodes.keys()


def _check_ways(workflow: graph.Workflow, at: At) -> None:
    steps = {name: set(_next_nodes(node)) for name, node in workflow.nodes.items()}
    reached = _closure(steps, (entry.node for entry in workflow.entries.values()))
    back: dict[str, set[str]] = {name: set() for name in steps}
    for name, following in steps.items():
        for other in following:
            back[other].add(name)
    ending = [name for name, node in workflow.nodes.items() if any(_ends(edge) for edge in node.all_edges)]
    ends = _closure(back, ending)
    for name in workflow.nodes:
        if name not in reached:
            at.find("nodes", name).fail(f"No entry and no edge leads to `{name}`; connect it or remove it.")
        if name not in ends:
            at.find("nodes", name).fail(f"From `{name}` no way leads to DONE, BLOCKED or FAILED; add one.")


def _check_promotion(each: _Placed, workflow: graph.Workflow) -> None:
    target = each.edge.target
    if not isinstance(target, graph.TerminalTarget) or target.promote_node is None:
        return
    where = each.at.find("target", "promote", "latest_node")
    name = target.promote_node
    if where.missing(name, "node", workflow.nodes):
        return
    if name == each.source.name:
        where.fail("This is the node itself; write `promote: current`.")
        return
    steps = {node.name: set(_next_nodes(node)) for node in workflow.nodes.values()}
    if each.source.name not in _closure(steps, [name]):
        where.fail(f"No way leads from `{name}` to `{each.source.name}`, so it can have no result here.")


def _next_nodes(node: graph.AgentNode | graph.ActionNode) -> Iterator[str]:
    for edge in node.all_edges:
        if isinstance(edge.target, graph.NodeTarget):
            yield edge.target.node
        if edge.pending_notifications is not None and edge.pending_notifications.node:
            yield edge.pending_notifications.node


def _closure(steps: Mapping[str, set[str]], start: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(start)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(steps.get(name, ()))
    return found


def _ends(edge: graph.Edge) -> bool:
    return isinstance(edge.target, graph.TerminalTarget)


def _runs(node: graph.AgentNode | graph.ActionNode, agent: str) -> bool:
    return isinstance(node, graph.AgentNode) and node.agent == agent
