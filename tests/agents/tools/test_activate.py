"""`activate_card` hands over to whoever runs cards."""

from pathlib import Path

import pytest

from agents.tools import shop
from workstead.agents.tools.workbench import Activation


@pytest.mark.covers("W17")
async def test_a_child_is_activated_with_the_exact_instructions(tmp_path: Path) -> None:
    """Facts 2.4: kept byte for byte."""
    async with shop.opened(tmp_path) as place:
        data = await place.call("activate_card", card_id="card-a", instructions="  go\n")
        assert data == {"outcome": "done"}
        assert place.activated == [Activation(card_id="card-a", instructions="  go\n")]


@pytest.mark.covers("W17")
async def test_instructions_must_say_something(tmp_path: Path) -> None:
    """Facts 2.4: non-whitespace."""
    async with shop.opened(tmp_path) as place:
        for wrong in ({"instructions": " \n"}, {"instructions": ""}, {}, {"instructions": "x", "more": 1}):
            assert await place.refused("activate_card", card_id="card-a", **wrong) == "input_invalid"
        assert place.activated == []
