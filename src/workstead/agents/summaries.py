"""Summaries: what a model is asked when old rows are to be replaced, and what counts as an answer. Pure."""

from collections.abc import Sequence
from typing import cast

from workstead.agents.conversations import Row, RowKind
from workstead.agents.genesis import Kept
from workstead.agents.models.shape import Answer, Finish, Message, Purpose, Request, Role
from workstead.agents.packing import Source
from workstead.kernel import canonical
from workstead.kernel.canonical import Json

MAX_TOKENS = 2000
TARGET_BYTES = 12_000
CORRECTIVE_TARGET_BYTES = 6000

_UNTOLD = frozenset({RowKind.PRIVATE, RowKind.SEGMENT, RowKind.SHOWN})
_INSTRUCTIONS = """\
You replace the oldest part of an agent's working conversation by a summary. The agent goes on working with your \
summary in the place of those rows, so write what it needs in order to go on correctly, and nothing else.

You are given, in this order: the text that is put before every call of the agent (orientation only, never history); \
texts that stay word for word (orientation only, do not repeat them); the summary so far, if there is one; and new \
source, labelled by row and by byte range. Write one complete replacement that covers the summary so far and the new \
source together.

Keep: requirements and restrictions that still apply and who set them; decisions with their reasons; what was really \
done, apart from what was only proposed; what is a draft and what was accepted or approved; paths, names, ids, numbers \
and commands that are needed again; checks with how they ended; open questions, failures and what is uncertain; what \
was about to be done next. Later source may supersede earlier decisions; it does not end requirements that it does not \
name. A last success of several commands does not prove that the earlier ones passed. States, permissions and refusals \
are those of the rows you were given; say nothing about what came later, and claim nothing that is not there.

Write plain prose or short lists in the language of the source, no headings about yourself, no tool calls."""

_NO_SUMMARY = "The rows held nothing that a model is told."
OMITTED = (
    "The earlier rows, and what an earlier summary said, are left out here without a summary: none could be made. "
    "Nothing is known from this about effects, results, approvals or permissions of that time. Where you need what "
    "stood there, read the card, its records and the files."
)
NOTHING = _NO_SUMMARY


class UnusableSummaryError(Exception):
    """An answer that cannot stand for anything. reason: one word."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def request(
    like: Request, *, kept: Sequence[Kept], so_far: str | None, source: str, target_bytes: int, max_tokens: int
) -> Request:
    """The request for one summary. like: the agent's own; its first message is what stands before the history."""
    told = ["<prepared_context>", like.messages[0].text, "</prepared_context>"]
    for each in kept:
        told += [f'<stays row="{each.row}">', each.text, "</stays>"]
    if so_far is not None:
        told += ["<summary_so_far>", so_far, "</summary_so_far>"]
    told += [
        source,
        f"Write the replacement now, in at most {target_bytes} bytes. Be complete before you are short"
        + (", but be short: the last one was too long." if target_bytes < TARGET_BYTES else "."),
    ]
    return Request(
        model=like.model,
        instructions=_INSTRUCTIONS,
        messages=(Message(role=Role.USER, text="\n".join(told)),),
        tools=(),
        max_tokens=max_tokens,
        temperature=None,
        situation=like.situation,
        purpose=Purpose.SUMMARY,
    )


def read(answer: Answer) -> str:
    """The summary. Raises UnusableSummaryError for an empty one, one that calls tools, one that was cut off."""
    if answer.calls:
        raise UnusableSummaryError("tool_calls")
    if answer.finish is Finish.LENGTH:
        raise UnusableSummaryError("incomplete_output")
    if not answer.text.strip():
        raise UnusableSummaryError("empty_output")
    return answer.text.strip()


def sources(rows: Sequence[Row], *, without: frozenset[int], released: Sequence[Kept]) -> tuple[Source, ...]:
    """What is to be summarised. without: rows whose text stays word for word. released: texts that did until now."""
    old = tuple(Source(label=f'row="{each.row}" kind="instruction"', text=each.text) for each in released)
    return old + tuple(
        Source(label=_label(row), text=_text(row))
        for row in rows
        if row.number not in without and row.kind not in _UNTOLD and _text(row)
    )


def _label(row: Row) -> str:
    told = f'row="{row.number}" kind="{row.kind.value}" from="{row.role.value}" at="{row.at}"'
    if row.tool is None:
        return told
    content = row.content if isinstance(row.content, dict) else {}
    return f'{told} tool="{row.tool}" call="{content.get("id", "")}"'


def _text(row: Row) -> str:
    content = cast("dict[str, Json]", row.content)
    match row.kind:
        case RowKind.ACTIVATION:
            entered = {key: content.get(key) for key in ("node", "entry", "direction") if content.get(key)}
            return f"An activation of the card began: {canonical.text(cast('Json', entered))}"
        case RowKind.TOOL_CALL:
            return cast("str", content["arguments"])
        case RowKind.TOOL_RESULT:
            return canonical.text(content["result"])
        case _:
            return cast("str", content.get("text", ""))
