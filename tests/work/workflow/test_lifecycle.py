"""The eight statuses, both ways: what may follow, and what may not."""

import pytest

from workstead import errors
from workstead.work.workflow import lifecycle
from workstead.work.workflow.lifecycle import Entry, Status

# The table of the source, written again by hand: status, what may follow.
_FOLLOWING = {
    "backlog": "running cancelled",
    "changed": "running cancelled",
    "running": "done failed blocked stopped cancelled",
    "stopped": "running cancelled",
    "blocked": "changed running cancelled",
    "done": "changed",
    "failed": "changed cancelled",
    "cancelled": "",
}


@pytest.mark.covers("W02")
@pytest.mark.parametrize("following", Status)
@pytest.mark.parametrize("status", Status)
def test_a_status_follows_another_exactly_where_the_table_says(status: Status, following: Status) -> None:
    """Duty: spec, exact card lifecycle vocabulary; all 64 pairs."""
    if following.value in _FOLLOWING[status.value].split():
        assert lifecycle.check_transition(status, following) is following
    else:
        with pytest.raises(errors.Refusal) as refusal:
            lifecycle.check_transition(status, following)
        assert refusal.value.code == "card_transition_impossible"


@pytest.mark.covers("W02", "W12")
@pytest.mark.parametrize(
    ("status", "entry", "terminal", "notices", "cancellable"),
    [
        (Status.BACKLOG, Entry.BACKLOG, False, True, True),
        (Status.CHANGED, Entry.CHANGED, False, True, True),
        (Status.RUNNING, None, False, True, True),
        (Status.STOPPED, Entry.STOPPED, False, True, True),
        (Status.BLOCKED, Entry.BLOCKED, False, True, True),
        (Status.DONE, None, True, False, False),
        (Status.FAILED, None, True, False, True),
        (Status.CANCELLED, None, True, False, False),
    ],
)
def test_each_status_has_the_properties_of_the_table(
    status: Status, entry: Entry | None, terminal: bool, notices: bool, cancellable: bool
) -> None:
    """Duty: facts 6.2, the table of statuses."""
    assert lifecycle.entry_for(status) is entry
    assert lifecycle.is_terminal(status) is terminal
    assert lifecycle.accepts_notifications(status) is notices
    assert lifecycle.is_cancellable(status) is cancellable
    assert lifecycle.is_complete(status) is (status is Status.DONE)
