"""What the command line prints: answers as readable lines or as JSON; it asks nothing of the server itself."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from workstead import errors

Answer = Mapping[str, Any]

_STYLES = {
    "backlog": "dim",
    "blocked": "yellow",
    "cancelled": "dim strike",
    "changed": "cyan",
    "done": "green",
    "failed": "red",
    "paused": "yellow",
    "running": "bold blue",
    "stopped": "yellow",
}
_RUN_LINES = {
    "done": "The run ended: the objective is done.",
    "blocked": "The run ended: blocked.",
    "failed": "The run ended: failed.",
    "stopped": "The run was stopped.",
    "interrupted": "The run was interrupted.",
}


class Terminal:
    """Where a command prints. as_json: one JSON value a line on standard output instead of sentences."""

    def __init__(self, *, as_json: bool, out: TextIO, err: TextIO) -> None:
        self.as_json = as_json
        self._out = Console(file=out, highlight=False, soft_wrap=True, markup=False)
        self._err = Console(file=err, highlight=False, soft_wrap=True, markup=False)

    def json(self, value: object) -> None:
        """One JSON value on one line."""
        self._out.file.write(json.dumps(value, ensure_ascii=False) + "\n")
        self._out.file.flush()

    def say(self, text: str, *, style: str = "") -> None:
        """A sentence for the person; nothing in JSON mode."""
        if not self.as_json:
            self._out.print(Text(text, style=style))

    def answer(self, value: Answer, lines: Sequence[str]) -> None:
        """An answer: the value itself in JSON mode, else its lines."""
        if self.as_json:
            self.json(value)
            return
        for line in lines:
            self._out.print(Text(line))

    def refusal(self, refusal: errors.Refusal) -> None:
        """One sentence, then each issue with its path; on standard error, in JSON mode as a value there."""
        if self.as_json:
            self._err.file.write(json.dumps(_refusal_value(refusal), ensure_ascii=False) + "\n")
            return
        self._err.print(Text.assemble(("workstead: ", "bold red"), refusal.message))
        for issue in refusal.issues:
            self._err.print(Text.assemble("  ", (issue.path, "bold"), f": {issue.message}"))

    def tree(self, cards: Sequence[Answer]) -> None:
        """Cards, each below its parent."""
        roots: list[Tree] = []
        places: dict[str, Tree] = {}
        for card in cards:
            label = Text.assemble(card["title"], "  ", status(card["status"]), "  ", (card["card_id"], "dim"))
            above = places.get(card.get("parent_id") or "")
            places[card["card_id"]] = above.add(label) if above is not None else Tree(label)
            if above is None:
                roots.append(places[card["card_id"]])
        for root in roots:
            self._out.print(root)

    def facts(self, pairs: Sequence[tuple[str, object]]) -> None:
        """Names and values in two columns."""
        width = max((len(name) for name, _ in pairs), default=0)
        for name, value in pairs:
            self._out.print(Text.assemble((f"{name:<{width}}  ", "dim"), str(value)))


def status(word: str) -> Text:
    """A status in its colour."""
    return Text(word, style=_STYLES.get(word, ""))


def run_end(run: Answer) -> str:
    """How a run ended, one sentence and its reason."""
    line = _RUN_LINES.get(str(run.get("ending")), f"The run ended: {run.get('ending')}.")
    reason = run.get("reason")
    return f"{line} {reason}" if reason else line


def counts(found: Mapping[str, int]) -> str:
    """`3 done, 1 running`."""
    return ", ".join(f"{number} {name}" for name, number in sorted(found.items())) or "no cards"


def _refusal_value(refusal: errors.Refusal) -> dict[str, object]:
    return {
        "ok": False,
        "kind": refusal.kind.value,
        "code": refusal.code,
        "message": refusal.message,
        "details": dict(refusal.details),
        "issues": [{"path": issue.path, "message": issue.message} for issue in refusal.issues],
        "advice": refusal.advice.value,
    }
