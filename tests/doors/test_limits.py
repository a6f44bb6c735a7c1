"""Allowances and active calls (K16)."""

import pytest

from workstead import errors
from workstead.doors import limits
from workstead.doors.limits import Active, Allowance
from workstead.testing import SetClock

pytestmark = pytest.mark.covers("K16")


def test_a_minutes_worth_may_come_at_once_and_fills_again_evenly() -> None:
    """What is used up says when there is more."""
    clock = SetClock()
    allowance = Allowance(per_minute=60, clock=clock)
    assert [allowance.take("a") for _ in range(60)] == [None] * 60
    assert allowance.take("a") == pytest.approx(1.0)
    assert allowance.take("b") is None
    clock.advance(seconds=1.5)
    assert allowance.take("a") is None
    assert allowance.take("a") == pytest.approx(0.5)


def test_the_table_of_allowances_stays_small() -> None:
    """Made-up addresses must not cost memory for ever."""
    clock = SetClock()
    allowance = Allowance(per_minute=60, clock=clock)
    for number in range(limits._KEYS_MOST + 50):
        allowance.take(str(number))
    assert len(allowance._left) == limits._KEYS_MOST
    clock.advance(seconds=61)
    allowance.take("later")
    assert list(allowance._left) == ["later"]


def test_changes_under_way_are_counted_for_each_account_and_for_all() -> None:
    """Settlements, limits: 4 for each account, 16 for the process."""
    active = Active()
    held = [active.one(f"account-{number // 4}") for number in range(16)]
    for each in held:
        each.__enter__()
    for account, code in (("account-0", "calls_active"), ("account-9", "server_busy")):
        with pytest.raises(errors.Refusal) as refused, active.one(account):
            raise AssertionError("must not be admitted")
        assert (refused.value.code, refused.value.advice) == (code, errors.Advice.LATER)
    held[0].__exit__(None, None, None)
    with active.one("account-0"):
        pass


def test_the_operator_says_how_many() -> None:
    """Settings `active_changes` and `active_changes_per_account`."""
    active = Active(per_account=1, per_process=2)
    with active.one("a"), active.one("b"):
        for account, code in (("a", "calls_active"), ("c", "server_busy")):
            with pytest.raises(errors.Refusal) as refused, active.one(account):
                raise AssertionError("must not be admitted")
            assert refused.value.code == code
