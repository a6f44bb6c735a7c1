"""Card ids: the grammar, the depth, the order in which a parent names its children."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workstead import errors
from workstead.work.workflow import identity

_SEGMENTS = st.lists(st.integers(min_value=0, max_value=20_000).map(identity.segment_at), max_size=12)


def _id(segments: list[str]) -> str:
    return "-".join(["card", *segments]) if segments else "project"


@pytest.mark.covers("W02")
@given(segments=_SEGMENTS)
def test_every_id_built_from_segments_is_one_and_leads_back_to_the_root(segments: list[str]) -> None:
    """Duty: spec, exact card identity contract; parent and depth follow from the id alone."""
    card_id = _id(segments)
    assert identity.is_card_id(card_id)
    assert identity.depth_of(card_id) == len(segments)
    line = identity.ancestors_of(card_id)
    assert line == tuple(_id(segments[:length]) for length in range(len(segments) - 1, -1, -1))
    assert identity.parent_of(card_id) == (line[0] if line else None)
    assert all(identity.is_within(card_id, above) for above in line)


@given(segments=st.lists(st.from_regex(r"[a-z]{1,3}", fullmatch=True), min_size=12, max_size=12))
def test_a_thirteenth_segment_is_refused(segments: list[str]) -> None:
    """Duty: spec; the ceiling is twelve segments."""
    with pytest.raises(errors.Refusal) as refusal:
        identity.child_of(_id(segments), "a")
    assert refusal.value.code == "card_depth_exceeded"
    assert refusal.value.details == {"depth": 13, "maximum": 12}
    assert not identity.is_card_id(_id([*segments, "a"]))


@pytest.mark.covers("W02")
@given(position=st.integers(min_value=0, max_value=1_000_000))
def test_segments_count_like_spreadsheet_columns(position: int) -> None:
    """Duty: spec, deterministic local spreadsheet sequence."""
    assert identity.next_segment(identity.segment_at(position)) == identity.segment_at(position + 1)


def test_the_first_segments_are_those_of_a_spreadsheet() -> None:
    """Duty: spec; a, b ... z, aa."""
    assert identity.next_segment(None) == "a"
    assert [identity.segment_at(n) for n in (0, 25, 26, 51, 52, 701, 702)] == [
        "a", "z", "aa", "az", "ba", "zz", "aaa",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "",
        "card",
        "card-",
        "card-A",
        "card-a-",
        "card--a",
        "card-a1",
        "card-a\n",
        "Project",
        "card-ä",
        "projects",
    ],
)
def test_a_text_off_the_grammar_is_no_card_id(text: str) -> None:
    """Duty: spec; domain methods reject malformed ids."""
    assert not identity.is_card_id(text)
    with pytest.raises(errors.Refusal) as refusal:
        identity.parent_of(text)
    assert refusal.value.code == "card_id_malformed"


@given(positions=st.lists(st.integers(min_value=0, max_value=20_000), unique=True))
def test_siblings_sort_in_the_order_they_were_made(positions: list[int]) -> None:
    """Duty: our decision; `card-aa` comes after `card-z`."""
    ids = [identity.child_of("project", identity.segment_at(position)) for position in positions]
    expected = [identity.child_of("project", identity.segment_at(position)) for position in sorted(positions)]
    assert sorted(ids, key=identity.creation_order) == expected
    assert sorted([*ids, "project"], key=identity.creation_order)[0] == "project"


@pytest.mark.parametrize(("card_id", "subtree", "inside"), [
    ("card-a-b", "card-a", True),
    ("card-a", "card-a", True),
    ("card-aa", "card-a", False),
    ("card-a", "card-a-b", False),
    ("card-a", "project", True),
])  # fmt: skip
def test_a_subtree_is_told_by_segments_and_not_by_letters(card_id: str, subtree: str, inside: bool) -> None:
    """Duty: our decision; `card-aa` looks like `card-a` and is a stranger."""
    assert identity.is_within(card_id, subtree) is inside
