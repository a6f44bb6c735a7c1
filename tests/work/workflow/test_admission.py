"""Who may do what: every status for both callers, and each refusal by its code."""

from collections.abc import Callable

import pytest

from work import folder
from workstead import errors
from workstead.work.workflow import admission, graph, identity
from workstead.work.workflow.admission import Card, NewChild, Person, Planner
from workstead.work.workflow.lifecycle import Entry, Status

READY = Person(ready=True)
BUSY = Person(ready=False)
PLANNER = Planner(card_id="project", creatable_types=("task",), activatable_types=("task",))


@pytest.fixture(scope="module")
def types() -> dict[str, graph.CardType]:
    return dict(folder.compiled().configuration.card_types)


def _card(card_id: str, status: Status = Status.BACKLOG, *depends_on: str) -> Card:
    kind = "project" if card_id == "project" else "task"
    return Card(card_id=card_id, card_type=kind, status=status, depends_on=depends_on)


def _answer(ask: Callable[[], object]) -> object:
    """What the rule gives back, or the code of its refusal."""
    try:
        return ask()
    except errors.Refusal as refusal:
        return refusal.code


def _create(
    actor: admission.Actor,
    types: dict[str, graph.CardType],
    *,
    parent: Card,
    wanted: NewChild | None = None,
    children: tuple[str, ...] = (),
) -> object:
    wanted = wanted or NewChild(card_type="task")
    cards = {"project", "card-z", *children}
    return _answer(
        lambda: admission.admit_create(actor, wanted, parent=parent, types=types, children=children, cards=cards)
    )


@pytest.mark.covers("W11")
@pytest.mark.parametrize(
    ("status", "planner", "person"),
    [
        (Status.BACKLOG, None, None),
        (Status.CHANGED, None, None),
        (Status.RUNNING, None, "parent_running"),
        (Status.BLOCKED, None, None),
        (Status.STOPPED, None, None),
        (Status.DONE, "parent_closed", "parent_closed"),
        (Status.FAILED, "parent_closed", "parent_closed"),
        (Status.CANCELLED, "parent_closed", "parent_closed"),
    ],
)
def test_a_child_is_made_under_a_parent_of_the_right_status(
    types: dict[str, graph.CardType], status: Status, planner: object, person: object
) -> None:
    """Duty: spec, caller-aware matrix: create."""
    parent = _card("project", status)
    assert _create(PLANNER, types, parent=parent) == planner
    assert _create(READY, types, parent=parent) == person
    assert _create(BUSY, types, parent=parent) == "project_running"


@pytest.mark.covers("W11")
def test_creating_names_what_stands_in_the_way(types: dict[str, graph.CardType]) -> None:
    """Duty: spec, creation order of checks and exact denials."""
    root = _card("project", Status.STOPPED)
    assert _create(READY, types, parent=root, wanted=NewChild(card_type="goal")) == "card_type_unknown"
    assert _create(READY, types, parent=_card("card-a")) == "child_type_not_permitted"
    assert _create(READY, types, parent=root, wanted=NewChild(card_type="project")) == "child_type_not_permitted"
    assert _create(Planner(card_id="project"), types, parent=root) == "child_type_not_creatable"
    assert _create(Planner(card_id="card-a"), types, parent=root) == "not_your_card"


@pytest.mark.covers("W11", "W02")
def test_dependencies_are_siblings_for_a_planner_and_any_present_card_for_a_person(
    types: dict[str, graph.CardType],
) -> None:
    """Duty: spec, caller-aware matrix: create, additional admission."""
    root = _card("project", Status.STOPPED)

    def ask(actor: admission.Actor, *depends_on: str) -> object:
        wanted = NewChild(card_type="task", depends_on=depends_on)
        return _create(actor, types, parent=root, wanted=wanted, children=("card-a",))

    assert ask(PLANNER, "card-a") is None
    assert ask(PLANNER, "card-z") == "dependency_not_sibling"
    assert ask(READY, "card-z") is None
    assert ask(READY, "card-q") == "dependency_unknown"
    assert ask(READY, "card-a", "card-a") == "dependency_repeated"
    assert ask(READY, "project") == "dependency_on_ancestor"


@pytest.mark.covers("W02")
def test_depth_thirteen_is_refused_before_anything_else(types: dict[str, graph.CardType]) -> None:
    """Duty: spec; the depth is checked before the parent's status."""
    parent = _card("card" + "-a" * 12, Status.CANCELLED)
    assert _create(BUSY, types, parent=parent) == "card_depth_exceeded"


@pytest.mark.covers("W02")
def test_depth_twelve_takes_only_types_without_children() -> None:
    """Duty: spec; at the greatest depth the workflow's permitted children must be empty."""
    types = dict(folder.compiled(folder.YAML.replace("permitted_child_types: []", "permitted_child_types: [task]")).configuration.card_types)  # fmt: skip # noqa: E501
    parent = _card("card" + "-a" * 11, Status.STOPPED)
    assert identity.depth_of(parent.card_id) == 11
    assert _create(READY, types, parent=parent) == "child_type_not_leaf"
    above = _card("card" + "-a" * 10, Status.STOPPED)
    assert _create(READY, types, parent=above) is None


@pytest.mark.covers("W11")
@pytest.mark.parametrize(
    ("status", "edited", "planner_reopens", "person_reopens"),
    [
        (Status.BACKLOG, Status.BACKLOG, "card_not_reopenable", "card_not_reopenable"),
        (Status.CHANGED, Status.CHANGED, "card_not_reopenable", "card_not_reopenable"),
        (Status.RUNNING, "card_running", "card_not_reopenable", "card_not_reopenable"),
        (Status.STOPPED, Status.STOPPED, "card_not_reopenable", "card_not_reopenable"),
        (Status.BLOCKED, Status.CHANGED, "card_not_reopenable", Status.CHANGED),
        (Status.DONE, "card_done", Status.CHANGED, Status.CHANGED),
        (Status.FAILED, Status.CHANGED, Status.CHANGED, Status.CHANGED),
        (Status.CANCELLED, "card_cancelled", "card_not_reopenable", "card_not_reopenable"),
    ],
)
def test_editing_and_reopening_follow_the_matrix(
    status: Status, edited: object, planner_reopens: object, person_reopens: object
) -> None:
    """Duty: spec, caller-aware matrix: edit, reopen."""
    card = _card("card-a", status)
    assert _answer(lambda: admission.admit_edit(PLANNER, card)) == edited
    assert _answer(lambda: admission.admit_edit(READY, card)) == edited
    assert _answer(lambda: admission.admit_reopen(PLANNER, card)) == planner_reopens
    assert _answer(lambda: admission.admit_reopen(READY, card)) == person_reopens


@pytest.mark.covers("W11")
def test_a_planner_acts_on_its_immediate_children_only() -> None:
    """Duty: spec, caller-aware matrix: scope of every Planner operation."""
    for card_id in ("project", "card-a-b"):
        card = _card(card_id, Status.FAILED)
        assert _answer(lambda: admission.admit_edit(PLANNER, card)) == "card_not_child"  # noqa: B023
        assert _answer(lambda: admission.admit_reopen(PLANNER, card)) == "card_not_child"  # noqa: B023
        assert _answer(lambda: admission.admit_cancel(PLANNER, card, subtree=[card])) == "card_not_child"  # noqa: B023
        assert _answer(lambda: admission.admit_activate(PLANNER, card, dependencies=[])) == "card_not_child"  # noqa: B023


@pytest.mark.covers("W11")
def test_a_person_changes_resting_projects_only_but_cancels_any_time() -> None:
    """Duty: spec, caller-aware matrix: intervention readiness."""
    card = _card("card-a", Status.BLOCKED)
    root = _card("project", Status.STOPPED)
    assert _answer(lambda: admission.admit_edit(BUSY, card)) == "project_running"
    assert _answer(lambda: admission.admit_reopen(BUSY, card)) == "project_running"
    assert _answer(lambda: admission.admit_delete(BUSY, [card], cards=[root, card])) == "project_running"
    order = ["card-a"]
    reorder = lambda: admission.admit_reorder(BUSY, root, order=order, children=order, subtree=[card])  # noqa: E731
    assert _answer(reorder) == "project_running"
    assert _answer(lambda: admission.admit_cancel(BUSY, card, subtree=[card])) is None


@pytest.mark.covers("W11")
@pytest.mark.parametrize("status", Status)
def test_cancelling_is_all_or_nothing_for_a_person(status: Status) -> None:
    """Duty: spec, caller-aware matrix: cancel; a done or cancelled member refuses the whole."""
    top, below = _card("card-a", Status.STOPPED), _card("card-a-a", status)
    expected = "card_not_cancellable" if status in {Status.DONE, Status.CANCELLED} else None
    assert _answer(lambda: admission.admit_cancel(READY, top, subtree=[top, below])) == expected
    assert _answer(lambda: admission.admit_cancel(PLANNER, top, subtree=[top, below])) is None


def test_the_root_is_neither_cancelled_nor_deleted() -> None:
    """Duty: spec; non-root targets only."""
    root = _card("project", Status.STOPPED)
    assert _answer(lambda: admission.admit_cancel(READY, root, subtree=[root])) == "card_is_root"
    assert _answer(lambda: admission.admit_delete(READY, [root], cards=[root])) == "card_is_root"


@pytest.mark.covers("W11")
def test_deleting_goes_from_dependants_to_what_they_need_and_from_children_to_parents() -> None:
    """Duty: spec, caller-aware matrix: delete; order and survivors."""
    cards = [
        _card("project"),
        _card("card-a"),
        _card("card-a-a"),
        _card("card-a-b", Status.BACKLOG, "card-a-a"),
        _card("card-b", Status.BACKLOG, "card-a"),
    ]
    order = admission.admit_delete(READY, [cards[1], cards[4]], cards=cards)
    assert sorted(order) == ["card-a", "card-a-a", "card-a-b", "card-b"]
    for first, later in [("card-a-b", "card-a-a"), ("card-a-a", "card-a"), ("card-b", "card-a")]:
        assert order.index(first) < order.index(later)
    assert _answer(lambda: admission.admit_delete(READY, [cards[1]], cards=cards)) == "card_depended_on"
    assert _answer(lambda: admission.admit_delete(PLANNER, [cards[1]], cards=cards)) == "delete_not_for_agents"


def test_a_branch_with_a_running_card_is_not_deleted() -> None:
    """Duty: spec, caller-aware matrix: delete; no running member."""
    cards = [_card("project"), _card("card-a", Status.STOPPED), _card("card-a-a", Status.RUNNING)]
    assert _answer(lambda: admission.admit_delete(READY, [cards[1]], cards=cards)) == "subtree_running"


@pytest.mark.covers("W11")
def test_reordering_wants_an_exact_permutation_and_counts_what_moves() -> None:
    """Duty: spec, caller-aware matrix: reorder; an identity order changes nothing."""
    children = ["card-a", "card-b", "card-c"]
    resting = [_card(card_id) for card_id in children]

    def ask(actor: admission.Actor, order: list[str], *, status: Status = Status.RUNNING) -> object:
        parent = _card("project", status)
        return _answer(lambda: admission.admit_reorder(actor, parent, order=order, children=children, subtree=resting))

    assert ask(PLANNER, children) == 0
    assert ask(PLANNER, ["card-b", "card-a", "card-c"]) == 2
    for wrong in (["card-a", "card-b"], [*children, "card-d"], ["card-a", "card-a", "card-c"]):
        assert ask(PLANNER, wrong) == "order_not_permutation"
    assert ask(READY, children) == "parent_running"
    assert ask(READY, children, status=Status.STOPPED) == 0
    assert ask(Planner(card_id="card-a"), children) == "not_your_card"
    resting.append(_card("card-a-a", Status.RUNNING))
    assert ask(READY, children, status=Status.STOPPED) == "subtree_running"


@pytest.mark.covers("W11")
@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (Status.BACKLOG, Entry.BACKLOG),
        (Status.CHANGED, Entry.CHANGED),
        (Status.BLOCKED, Entry.BLOCKED),
        (Status.STOPPED, Entry.STOPPED),
        (Status.RUNNING, "card_not_startable"),
        (Status.DONE, "card_not_startable"),
        (Status.FAILED, "card_not_startable"),
        (Status.CANCELLED, "card_not_startable"),
    ],
)
def test_a_child_starts_by_the_entry_of_its_status(status: Status, answer: object) -> None:
    """Duty: spec, caller-aware matrix: activate."""
    card = _card("card-a", status)
    assert _answer(lambda: admission.admit_activate(PLANNER, card, dependencies=[])) == answer
    assert _answer(lambda: admission.admit_activate(READY, card, dependencies=[])) == "activate_not_for_people"


@pytest.mark.covers("W11")
@pytest.mark.parametrize("status", Status)
def test_a_child_starts_only_when_all_it_depends_on_is_exactly_done(status: Status) -> None:
    """Duty: spec; every dependency exactly done."""
    card, needed = _card("card-b", Status.BACKLOG, "card-a"), _card("card-a", status)
    expected = Entry.BACKLOG if status is Status.DONE else "dependency_not_done"
    assert _answer(lambda: admission.admit_activate(PLANNER, card, dependencies=[needed])) == expected


def test_a_node_starts_only_the_types_it_may() -> None:
    """Duty: spec; compiled activation type."""
    actor = Planner(card_id="project")
    card = _card("card-a")
    answer = _answer(lambda: admission.admit_activate(actor, card, dependencies=[]))
    assert answer == "card_type_not_activatable"
