"""How a model's failure ends a task: content policy pins one retry, keys wait for a person, the rest has failed."""

from pathlib import Path
from typing import cast

import pytest

from agents import desk
from support import instance
from support.database import statement
from workstead.agents import failure_words, refusals, task
from workstead.agents.conversations import Row, RowKind
from workstead.agents.failure_words import EXPLAINED
from workstead.agents.models import failures
from workstead.agents.models.failures import ModelError
from workstead.agents.models.shape import Sent
from workstead.kernel.store import Prepared
from workstead.work.workflow.graph import Candidate

WHO = Candidate(provider="second", model="m2")
SENT = Sent(candidate=WHO, digest="d" * 64, size_bytes=1234, attempts=2)
_ENDS = Prepared(
    sqlite="SELECT failure, exchange_end.provider, exchange_end.model, sent_digest, sent_bytes, attempts, "
    "exchange.provider, exchange.model FROM exchange_end JOIN exchange ON exchange.id = exchange_id "
    "ORDER BY exchange_id",
    postgresql="",
)

_IDS = statement("SELECT id FROM exchange ORDER BY id")

KINDS: list[type[ModelError]] = [*dict.fromkeys(failures.ERRORS.values()), failures.RequestTooLargeError]


def refused() -> ModelError:
    return failures.ContentPolicyError("m2 of second: refused.", sent=SENT)


def notices(rows: tuple[Row, ...]) -> list[str]:
    wanted = {RowKind.REFUSAL, RowKind.REFUSAL_RETRY}
    return [cast("dict[str, str]", row.content)["text"] for row in rows if row.kind in wanted]


@pytest.mark.covers("W16")
async def test_a_refused_request_is_made_once_more_by_the_same_candidate_with_a_notice(tmp_path: Path) -> None:
    """W16: one safety-respecting retry; then the work goes on over the whole route."""
    with desk.opened(tmp_path) as place:
        model = desk.Model(answers=[refused(), desk.calls("a"), desk.ends()])
        end = await place.turns(model, desk.tool("a")).run()
        rows = place.rows()
    assert end == desk.ACCEPTED
    assert [asked.pinned for asked in model.asked] == [None, WHO, None]
    assert len(notices(rows)) == 1
    assert "Workstead authorizes only assistance" in notices(rows)[0]
    assert model.asked[1].messages[-1].text == notices(rows)[0]


@pytest.mark.covers("W16")
async def test_a_second_refusal_blocks_the_card_and_no_third_request_is_made(tmp_path: Path) -> None:
    """W16: then BLOCKED with a marker in the conversation; each call's end says who refused and what was sent."""
    with desk.opened(tmp_path) as place:
        model = desk.Model(answers=[refused(), refused()])
        end = await place.turns(model).run()
        rows = place.rows()
        with instance.transaction(place.instance.path) as tx:
            ends = tx.all(_ENDS)
    assert end == task.Blocked(reason=refusals.blocked(desk.AGENT, rows[-1].number))
    assert len(notices(rows)) == 2
    marker = refusals.of_row(rows[-1])
    assert (marker.row, marker.candidate) == (rows[-1].number, WHO)
    assert f"Row {marker.row} records it" in notices(rows)[1]
    with instance.transaction(place.instance.path) as tx:
        assert [exchange[0] for exchange in tx.all(_IDS)] == [marker.first, marker.second]
    wire = ("second", "m2", "d" * 64, 1234, 2)
    assert [row[:6] for row in ends] == [("content_policy", *wire)] * 2
    assert ends[1][6:] == ("second", "m2")


@pytest.mark.covers("W15")
@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (failures.KeyMissingError("no key"), "no key"),
        (
            failures.KeyRefusedError("bad key.", sent=SENT),
            "bad key. Replace the key that the configuration names, then Run.",
        ),
    ],
)
async def test_what_a_person_must_do_blocks_the_card(tmp_path: Path, error: ModelError, sentence: str) -> None:
    """A key that is missing or revoked heals by no retry; the sentence says what to do."""
    with desk.opened(tmp_path) as place:
        end = await place.turns(desk.Model(answers=[error])).run()
    assert end == task.Blocked(reason=sentence)


@pytest.mark.covers("W15")
@pytest.mark.parametrize("kind", KINDS)
async def test_every_failure_is_recorded_under_its_name_and_tells_its_sentence(
    tmp_path: Path, kind: type[ModelError]
) -> None:
    """The exchange's end has the word, the card has the sentence."""
    with desk.opened(tmp_path) as place:
        end = await place.turns(desk.Model(answers=[kind("why", sent=SENT)] * 2)).run()
        with instance.transaction(place.instance.path) as tx:
            ends = tx.all(_ENDS)
    assert {row[0] for row in ends} == {failure_words.of(kind("why"))}
    assert {row[0] for row in ends} <= EXPLAINED.keys()
    expected = task.Blocked if kind in failures.WAITS_FOR_A_PERSON else task.Failed
    assert type(end) is expected
    if kind is not failures.ContentPolicyError:
        assert end.reason.startswith("why")
