"""Prompts: how a reference finds its text, what a text may contain, and how a run fills it in."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum

from workstead.work.workflow import graph
from workstead.work.workflow.reading import Problems

SHARED = "_shared"
PROJECT_PREFIX = "prompts"
BUNDLED_PREFIX = "bundled/prompts"
MAX_PROMPT_CHARS = 65_536

_INCLUDE = re.compile(r"\{\{>\s*([a-z][a-z0-9-]{0,63})\s*\}\}")
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_BLANK_LINES = re.compile(r"\n{3,}")
_BRACES = re.compile(r"\{\{([^{}]*)\}\}")

Lookup = Callable[[str], str | None]


class Kind(StrEnum):
    """What a prompt is for, which is also its folder."""

    AGENT = "agents"
    FRAGMENT = "fragments"
    PROCESS = "process"


CONTRACT = "contractDescription"
_AGENT_MACROS = frozenset({"cardType", "cardId", "cardTitle", CONTRACT})
_GLOBAL_MACROS: frozenset[str] = frozenset()
_PROCESS_MACROS = frozenset({"cardType"})
_RECORD_MACROS = frozenset({"cardType", "cardId", "cardTitle", "nodeId", "recordName"})


class Library:
    """Finds prompts, the project's before the bundled ones, and puts their fragments in."""

    def __init__(self, lookup: Lookup, problems: Problems) -> None:
        self._lookup = lookup
        self._problems = problems

    def agent(self, reference: str, *, card_type: str) -> tuple[str, str] | None:
        """Path and text of a card agent's prompt for a type. Missing: None; mistakes are recorded."""
        return self._text(Kind.AGENT, reference, card_type, macros=_AGENT_MACROS)

    def global_agent(self, reference: str) -> tuple[str, str] | None:
        """Path and text of a global agent's prompt."""
        return self._text(Kind.AGENT, reference, SHARED, macros=_GLOBAL_MACROS)

    def process(self, reference: str, *, card_type: str) -> tuple[str, str] | None:
        """Path and text of a node's, edge's or entry's prompt, with the card type filled in."""
        found = self._text(Kind.PROCESS, reference, card_type, macros=_PROCESS_MACROS)
        return found and (found[0], fill(found[1], {"cardType": card_type}))

    def record(self, template: str, *, card_type: str, path: str) -> str:
        """A record's starter with its fragments in. Mistakes are recorded at the path."""
        text = self._include(template, card_type, path)
        self._check(text, path, _RECORD_MACROS)
        return text

    @staticmethod
    def places(kind: Kind, reference: str, card_type: str) -> tuple[str, ...]:
        """Where a prompt may stand, first match wins."""
        folders = (card_type, SHARED) if card_type != SHARED else (SHARED,)
        return tuple(
            f"{prefix}/{kind}/{folder}/{reference}.md"
            for prefix in (PROJECT_PREFIX, BUNDLED_PREFIX)
            for folder in folders
        )

    def _text(self, kind: Kind, reference: str, card_type: str, *, macros: frozenset[str]) -> tuple[str, str] | None:
        found = self._find(kind, reference, card_type)
        if found is None:
            return None
        path, raw = found
        text = self._include(raw, card_type, path)
        self._check(text, path, macros)
        if kind is Kind.AGENT and CONTRACT in macros and text.count(f"{{{{{CONTRACT}}}}}") != 1:
            message = f"A card agent's prompt must contain `{{{{{CONTRACT}}}}}` exactly once."
            self._problems.add_elsewhere(path, message)
        return path, text

    def _find(self, kind: Kind, reference: str, card_type: str) -> tuple[str, str] | None:
        for path in self.places(kind, reference, card_type):
            text = self._lookup(path)
            if text is not None:
                return path, _COMMENT.sub("", text).strip()
        return None

    def _include(self, text: str, card_type: str, path: str) -> str:
        def fragment(match: re.Match[str]) -> str:
            found = self._find(Kind.FRAGMENT, match[1], card_type)
            if found is None:
                wanted = f"{PROJECT_PREFIX}/{Kind.FRAGMENT}/{SHARED}/{match[1]}.md"
                self._problems.add_elsewhere(path, f"There is no fragment `{match[1]}`; write {wanted}.")
                return ""
            if _INCLUDE.search(found[1]):
                message = "A fragment includes no other; put its text here, or include both in the prompt."
                self._problems.add_elsewhere(found[0], message)
            return found[1]

        return _BLANK_LINES.sub("\n\n", _INCLUDE.sub(fragment, text))

    def _check(self, text: str, path: str, macros: frozenset[str]) -> None:
        if not text.strip():
            self._problems.add_elsewhere(path, "The prompt is empty; write what the agent should do.")
        if len(text) > MAX_PROMPT_CHARS:
            self._problems.add_elsewhere(path, f"The prompt may have {MAX_PROMPT_CHARS} characters at most.")
        known = ", ".join(f"`{{{{{name}}}}}`" for name in sorted(macros)) or "none"
        for match in _BRACES.finditer(text):
            if match[1] not in macros and not _INCLUDE.fullmatch(match[0]):
                self._problems.add_elsewhere(path, f"`{match[0]}` is not filled in here; known are {known}.")


def render_agent_prompt(node: graph.AgentNode, *, card_type: str, card_id: str, card_title: str) -> str:
    """The agent's standing instructions at a node: its prompt with the card and the node's contract in."""
    return fill(
        node.agent_prompt.text,
        {
            "cardType": card_type,
            "cardId": card_id,
            "cardTitle": card_title,
            CONTRACT: describe_contract(node),
        },
    )


def render_initialization(record: graph.RecordSpec, *, card_type: str, card_id: str, card_title: str, node: str) -> str:
    """The starter text of a record, "" if it has none."""
    values = {
        "cardType": card_type,
        "cardId": card_id,
        "cardTitle": card_title,
        "nodeId": node,
        "recordName": record.name,
    }
    return fill(record.initialization or "", values)


def fill(text: str, values: Mapping[str, str]) -> str:
    """The text with known placeholders filled in, in one pass: what is put in is never read again."""
    return _BRACES.sub(lambda match: values.get(match[1], match[0]), text)


def describe_contract(node: graph.AgentNode) -> str:
    """What a node asks of its agent, generated: records, outcomes, how to finish."""
    paragraphs = [f"You are at the step `{node.name}`."]
    if node.requirements:
        needs = [_record_line(name, need) for name, need in node.requirements.items()]
        paragraphs.append("\n".join(["Records this step needs before it can end:", *needs]))
    if node.descendant_context is not None:
        paragraphs.append(_descendants_line(node.descendant_context))
    if node.creatable_types:
        paragraphs.append(f"You may create cards of these types: {', '.join(node.creatable_types)}.")
    ways = [_outcome_line(edge) for edge in node.edges.values()]
    end = f"End this step by calling `{graph.EMIT_RESULT}` alone, with one of these outcomes:"
    paragraphs.append("\n".join([end, *ways]))
    paragraphs.append(
        f"Its summary says in at most {graph.MAX_SUMMARY_CHARS} characters what is true now, what you "
        "checked and what is left open. Plain text does not end the step."
    )
    return "\n\n".join(paragraphs)


def _descendants_line(context: graph.DescendantContext) -> str:
    names = ", ".join(f"`{name}`" for name in context.records)
    line = f"You are shown {names} of every card below this one."
    if context.require_unchanged_until_accept:
        line += " If one of them changes before your result is accepted, you see the new text and decide again."
    return line


def _record_line(name: str, need: graph.Requirement) -> str:
    wanted = {
        (graph.Mode.CLEAN, graph.Gate.EXISTS): "start it afresh; it must have text",
        (graph.Mode.CLEAN, graph.Gate.UPDATED): "start it afresh and write it in this step",
        (graph.Mode.CONTINUE, graph.Gate.EXISTS): "it must have text",
        (graph.Mode.CONTINUE, graph.Gate.UPDATED): "bring it up to date in this step",
    }
    return f"- `{name}`: {wanted[need.mode, need.gate]}."


def _outcome_line(edge: graph.Edge) -> str:
    match edge.target:
        case graph.NodeTarget(node=node):
            return f"- `{edge.outcome}`: the work goes on at `{node}`."
        case graph.TerminalTarget(status=status, export_records=records):
            handed = f", handing up {', '.join(f'`{name}`' for name in records)}" if records else ""
            return f"- `{edge.outcome}`: the card ends {status}{handed}."
