"""Acts check their input as operations do, and hand on who asks (architecture, "effects")."""

from typing import Any

import pytest

from workstead import errors
from workstead.kernel import acts
from workstead.kernel.access import AssistantProof
from workstead.kernel.acts import Act, Asked
from workstead.kernel.operations import Door, Effect, WriteInput

COVERS_MODULES = ("kernel/media.py",)

PROOF = AssistantProof(digest="d")


class Dig(WriteInput):
    """How deep."""

    depth: int


async def dig(asked: Asked[Dig]) -> dict[str, Any]:
    await asked.report(done=1)
    return {"depth": asked.args.depth, "digest": asked.digest, "key": asked.request_id, "proof": asked.proof}


DIG = Act(
    name="dig",
    summary="Dig.",
    input=Dig,
    output=dict[str, Any],
    permissions=frozenset(),
    effect=Effect.OUTWARD,
    doors=frozenset({Door.MCP}),
    perform=dig,
)


@pytest.mark.covers("K05")
async def test_the_digest_of_an_act_is_that_of_its_input_without_the_key() -> None:
    """K05: the same change under another key is the same input."""
    first = await acts.run(DIG, PROOF, {"depth": 2, "request_id": "a"}, report=acts.unheard)
    again = await acts.run(DIG, PROOF, {"depth": 2, "request_id": "b"}, report=acts.unheard)
    other = await acts.run(DIG, PROOF, {"depth": 3}, report=acts.unheard)
    assert first["digest"] == again["digest"] != other["digest"]
    assert (first["key"], other["key"], first["proof"]) == ("a", None, PROOF)


@pytest.mark.parametrize("raw", [{}, {"depth": "2"}, {"depth": 2, "width": 1}, {"depth": float("nan")}])
async def test_a_wrong_input_is_refused_before_anything_is_done(raw: dict[str, object]) -> None:
    """Closed and strict, with paths."""
    with pytest.raises(errors.Refusal) as refused:
        await acts.run(DIG, PROOF, raw, report=acts.unheard)
    assert refused.value.kind is errors.Kind.INVALID
