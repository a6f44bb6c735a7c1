"""Answers within `response_bytes`, whatever is in them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workstead import errors
from workstead.agents.tools import envelopes
from workstead.kernel import canonical
from workstead.kernel.redaction import Redactor

LIMITS = st.integers(512, 2048)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=3000)
REDACTOR = Redactor([])


@pytest.mark.covers("K10")
@given(TEXTS, LIMITS)
def test_a_text_is_whole_over_its_pages_and_each_page_fits(text: str, limit: int) -> None:
    """Facts 2.3: the whole canonical envelope."""
    parts: list[str] = []
    position = None
    for _ in range(len(text) + 2):
        acted = envelopes.text(
            text, position=position, response_bytes=limit, cut=REDACTOR.certified_end, fields={"kind": "file"}
        )
        assert len(canonical.dump(acted.result.body())) <= limit
        data: Any = acted.result.data
        parts.append(data["content"])
        position = data["next"]
        if position is None:
            break
    assert "".join(parts) == text


@pytest.mark.covers("K10")
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=900), max_size=12), LIMITS)
def test_items_are_whole_over_their_pages_and_each_page_fits(texts: list[str], limit: int) -> None:
    """Facts 2.3: an item too big for a page comes in slices."""
    seen: list[str] = []
    slices = ""
    position = None
    while True:
        acted = envelopes.page(
            [*texts], name="matches", position=position, response_bytes=limit, fields={"incomplete": None}
        )
        assert len(canonical.dump(acted.result.body())) <= limit
        data: Any = acted.result.data
        for item in data["matches"]["items"]:
            if isinstance(item, str):
                seen.append(item)
                continue
            slices += item["text"]
            if item["offset"] + len(item["text"].encode()) == item["total"]:
                seen.append(str(canonical.parse(slices)))
                slices = ""
        position = data["matches"]["next"]
        if position is None:
            break
    assert seen == texts


@pytest.mark.covers("K10")
@pytest.mark.parametrize("position", ["", "x", "MS4xLjAuMDAwMDAwMDA", "ä"])
def test_a_position_that_was_not_given_is_refused(position: str) -> None:
    """K10: `next` is copied back unchanged."""
    with pytest.raises(errors.Refusal) as refused:
        envelopes.text("abc", position=position, response_bytes=512, cut=REDACTOR.certified_end)
    assert refused.value.code == "position_invalid"
