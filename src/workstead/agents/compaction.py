"""Compaction: one attempt to let a conversation go on with a summary in the place of its oldest rows (W14).

It reads one segment and makes what the next begins with; it writes nothing. At most two places to cut are tried, at
most `MAX_CALLS` summaries are asked for. Where none can be had the rows are left out, and that is said.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from workstead.agents import cuts, history, protection, shown, summaries
from workstead.agents.conversations import Row, RowKind
from workstead.agents.genesis import Fact, Facts, Genesis, How, Kept, Strategy
from workstead.agents.history import History
from workstead.agents.models.capacity import Room
from workstead.agents.models.shape import Request
from workstead.agents.summarizer import NoSummaryError, Summarizer

_BYTES_PER_TOKEN = 4


@dataclass(frozen=True, kw_only=True)
class Found:
    """What came of it. begins: what the next segment begins with, None where nothing shorter is to be had, with why.

    refused: a content policy refused to summarise, so that it is not asked again for this answer.
    """

    begins: Genesis | None
    why: str = ""
    refused: bool = False


@dataclass(frozen=True, kw_only=True)
class _Folded:
    """What is known of the first `end` rows."""

    end: int
    summary: str | None
    kept: tuple[Kept, ...]
    facts: Facts
    open: Fact | None


class Compaction:
    """One attempt. request: the one that is to become shorter; its first message is what stands before the history."""

    def __init__(
        self, held: History, *, request: Request, room: Room, strategy: Strategy, summarizer: Summarizer
    ) -> None:
        self._held = held
        self._rows = held.rows
        self._request = request
        self._room = room
        self._strategy = strategy
        self._summarizer = summarizer
        self._before_tokens = room.tokens_of(request)
        self._best: Genesis | None = None

    async def run(self, *, summarise: bool) -> Found:
        """Find what the next segment begins with. summarise: otherwise rows are only left out.

        Raises SummaryEndedError where a provider failed in a way that stops the work.
        """
        tokens = [history.tokens_of(row) for row in self._rows]
        snap = self._room.compaction.snap
        ends = cuts.endpoints(self._rows, tokens, tail_tokens=self._room.tail_tokens, snap=snap)
        if not ends:
            return Found(begins=None, why="nothing of it can be taken away")
        why, refused = "", not summarise
        if summarise:
            try:
                await self._summarised(ends)
            except NoSummaryError as none:
                why, refused = none.why, none.refused
        if self._best is None:
            self._leave_out(ends)
        smallest = why or "what must stay is as large as what is there"
        return Found(begins=self._best, why="" if self._best is not None else smallest, refused=refused)

    async def _summarised(self, ends: Sequence[int]) -> None:
        folded = self._start()
        for end in ends:
            folded = await self._advance(folded, end)
            if self._offer(folded, _how(folded)):
                return
        if self._best is None:
            summary = await self._summarizer.shorter()
            if summary is not None:
                self._offer(replace(folded, summary=summary), How.SUMMARY)

    def _leave_out(self, ends: Sequence[int]) -> None:
        folded = self._start()
        for end in ends:
            folded = self._take(folded, end, summary=summaries.OMITTED)[0]
            self._offer(folded, How.OMISSION)
            if self._best is not None:
                return

    def _start(self) -> _Folded:
        begins = self._held.begins
        if begins is None:
            return _Folded(end=0, summary=None, kept=(), facts=Facts(), open=None)
        known = begins.summary if begins.how is not How.NOTHING else None
        return _Folded(end=0, summary=known, kept=begins.kept, facts=begins.facts, open=begins.open)

    async def _advance(self, folded: _Folded, end: int) -> _Folded:
        """Take the rows up to an end into the summary."""
        taken, released = self._take(folded, end, summary=folded.summary)
        rows = self._rows[folded.end : end]
        facts = {fact.row for fact in (taken.facts.recovered, taken.facts.refused) if fact is not None}
        without = frozenset(kept.row for kept in taken.kept) | facts
        sources = summaries.sources(rows, without=without, released=released)
        return replace(taken, summary=await self._summarizer.fold(folded.summary, sources, kept=taken.kept))

    def _take(self, folded: _Folded, end: int, *, summary: str | None) -> tuple[_Folded, tuple[Kept, ...]]:
        """Everything of the rows up to an end that is code's to carry over; and what is no longer kept."""
        rows, tail = self._rows[folded.end : end], self._rows[end:]
        words_bytes = self._room.tail_tokens * _BYTES_PER_TOKEN
        chosen = protection.choose(folded.kept, rows, tail, words_bytes=words_bytes)
        taken = _Folded(
            end=end,
            summary=summary,
            kept=chosen.kept,
            facts=_facts(folded.facts, rows),
            open=_open(folded.open, rows, tail),
        )
        return taken, chosen.released

    def _offer(self, folded: _Folded, how: How) -> bool:
        """Keep the smallest that helps; whether it is so small that nothing else need be tried."""
        begins = Genesis(
            source=self._held.segment,
            covered_through=self._rows[folded.end - 1].number,
            strategy=self._strategy,
            how=how,
            summary=folded.summary or summaries.NOTHING,
            kept=folded.kept,
            facts=folded.facts,
            open=folded.open,
            calls=self._summarizer.calls,
            before_tokens=self._before_tokens,
        )
        messages = (self._request.messages[0], *history.sent(begins, self._rows[folded.end :]))
        tokens = self._room.tokens_of(replace(self._request, messages=messages))
        helps = tokens < self._before_tokens
        if self._strategy is not Strategy.PROVIDER:
            helps = helps and tokens <= self._room.tokens
        if not helps or (self._best is not None and self._best.after_tokens < tokens):
            return False
        self._best = replace(begins, after_tokens=tokens)
        wanted = self._room.trigger_tokens if self._strategy is Strategy.AHEAD else self._room.tokens
        return tokens <= wanted


def _how(folded: _Folded) -> How:
    return How.SUMMARY if folded.summary is not None else How.NOTHING


def _facts(known: Facts, rows: Sequence[Row]) -> Facts:
    """The newest of each kind."""
    return Facts(
        recovered=_newest(RowKind.RECOVERED, rows) or known.recovered,
        refused=_newest(RowKind.REFUSAL, rows) or known.refused,
        shown=shown.newest(
            (*known.shown, *(one for row in rows if row.kind is RowKind.SHOWN for one in shown.of_row(row)))
        ),
    )


def _newest(kind: RowKind, rows: Sequence[Row]) -> Fact | None:
    found = [row for row in rows if row.kind is kind]
    return Fact(row=found[-1].number, text=history.to_messages(found[-1:])[0].text) if found else None


def _open(known: Fact | None, rows: Sequence[Row], tail: Sequence[Row]) -> Fact | None:
    """Where the activation begins that goes on behind the cut; None where the next begins there."""
    if tail and tail[0].kind is RowKind.ACTIVATION:
        return None
    begun = [row for row in rows if row.kind is RowKind.ACTIVATION]
    return Fact(row=begun[-1].number, text=begun[-1].at) if begun else known
