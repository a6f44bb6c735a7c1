"""Model calls as people find them: who was asked, how it ended, what a failure means, and where it belongs (W15)."""

from pathlib import Path

import pytest

from support import workplace
from support.workplace import result, write
from workstead import errors
from workstead.agents.models import failures
from workstead.agents.models.failures import FailureClass
from workstead.agents.models.shape import Sent
from workstead.runs import exchange_operations
from workstead.work.workflow.graph import Candidate

pytestmark = pytest.mark.both_databases

COVERS_MODULES = ("agents/exchange_reads.py",)

SENT = Sent(candidate=Candidate(provider="second", model="m2"), digest="d" * 64, size_bytes=9, attempts=3)
LIMITED = failures.RateLimitedError("m2 of second: no more.", sent=SENT, found=FailureClass.RATE_LIMIT)


_FILTERS: dict[str, dict[str, object]] = {
    "card": {"card_id": "project"},
    "other card": {"card_id": "card-z"},
    "agent": {"agent": "judge"},
    "provider": {"provider": "second"},
    "failed": {"failed": True},
    "failed by nobody": {"failed": True, "provider": "practice"},
}


@pytest.mark.covers("W15", "X03")
async def test_calls_are_listed_newest_first_and_one_says_all_that_is_known(tmp_path: Path) -> None:
    """A turn that was answered, then one that was not."""
    async with workplace.opened(tmp_path, lines={"steer": [[write("status.md", "S")], LIMITED]}) as shed:
        run = await shed.run()
        newest, first = (await shed.ask("list_exchanges")).exchanges
        failed = await shed.ask("get_exchange", exchange_id=newest.exchange_id)
        answered = await shed.ask("get_exchange", exchange_id=first.exchange_id)
        rows = shed.rows("lead")
        missing = await _refused(shed, "get_exchange", exchange_id="no-such-call")
    assert "m2 of second" in (run.reason or "")
    assert (newest.ended, newest.failure, newest.provider, newest.model) == ("failed", "rate_limit", "second", "m2")
    assert (newest.attempts, first.ended, first.failure, first.agent) == (3, "done", None, "lead")
    assert failed.failure.happened == "The provider takes no more requests for now."
    assert failed.failure.advice.endswith("Run.")
    assert (failed.answer_row, failed.sent_bytes, failed.sent_digest) == (None, 9, "d" * 64)
    assert answered.failure is None
    assert rows[answered.answer_row - 1].input_id == first.exchange_id
    assert rows[answered.answer_row - 2].input_id != first.exchange_id
    assert answered.last_row < answered.answer_row
    assert newest.milliseconds is not None
    assert newest.milliseconds >= 0
    assert missing == "exchange_not_found"


@pytest.mark.covers("W15", "K10")
async def test_calls_are_found_by_card_agent_provider_and_failure_page_after_page(tmp_path: Path) -> None:
    """Every call is on exactly one page."""
    turns = [[write("status.md", f"S{number}")] for number in range(29)]
    async with workplace.opened(tmp_path, lines={"steer": [*turns, LIMITED]}) as shed:
        await shed.run()
        pages, before = [], None
        while True:
            page = await shed.ask("list_exchanges", before=before)
            pages.append(page.exchanges)
            before = page.next
            if before is None:
                break
        found = {name: len((await shed.ask("list_exchanges", **given)).exchanges) for name, given in _FILTERS.items()}
    ids = [one.exchange_id for page in pages for one in page]
    assert [len(page) for page in pages] == [25, 5]
    assert ids == sorted(set(ids), reverse=True)
    assert found == {
        "card": 25,
        "other card": 0,
        "agent": 0,
        "provider": 1,
        "failed": 1,
        "failed by nobody": 0,
    }


@pytest.mark.covers("W15")
async def test_a_call_of_another_project_is_not_found(tmp_path: Path) -> None:
    """An id says nothing about where it belongs."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    lines: dict[str, list[workplace.Line]] = {"steer": [[write("status.md", "S"), result("stuck")]]}
    async with workplace.opened(tmp_path / "one", lines=lines) as shed:
        await shed.run()
        (one,) = (await shed.ask("list_exchanges")).exchanges
    async with workplace.opened(tmp_path / "two", lines={}) as other:
        assert await _refused(other, "get_exchange", exchange_id=one.exchange_id) == "exchange_not_found"


def test_a_word_of_another_version_is_shown_as_it_is() -> None:
    """Rows outlive the version that wrote them."""
    found = exchange_operations.explained("SlowProviderError")
    assert (found.happened, found.advice) == ("The call ended with `SlowProviderError`.", "")


async def _refused(shed: workplace.Workplace, name: str, **given: object) -> str:
    try:
        await shed.ask(name, **given)
    except errors.Refusal as refusal:
        return refusal.code
    raise AssertionError(f"{name} was not refused")
