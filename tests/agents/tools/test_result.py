"""`emit_result`: its schema, and what is taken."""

import json
from typing import Any

import pytest

from workstead.agents.tools import result
from workstead.agents.tools.result import Correction, NodeResult

OUTCOMES = ("ready", "stuck")


@pytest.mark.covers("W06")
def test_the_schema_names_exactly_the_outcomes_of_the_node() -> None:
    """Generated per node, in the order configured."""
    shown: Any = result.schema(OUTCOMES)
    assert shown.name == "emit_result"
    assert shown.parameters["properties"]["outcome"]["enum"] == ["ready", "stuck"]
    assert shown.parameters["properties"]["summary"]["maxLength"] == 2000
    assert shown.parameters["additionalProperties"] is False
    assert shown.parameters["required"] == ["outcome", "summary"]


@pytest.mark.covers("W06")
def test_a_result_is_taken_trimmed() -> None:
    """The summary is what the next reader starts from."""
    raw = json.dumps({"outcome": "ready", "summary": "  done\n"})
    assert result.read(raw, outcomes=OUTCOMES) == NodeResult(outcome="ready", summary="done")
    longest = json.dumps({"outcome": "stuck", "summary": " " + "x" * 2000 + " "})
    assert isinstance(result.read(longest, outcomes=OUTCOMES), NodeResult)


@pytest.mark.covers("W06")
@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ("{", "JSON"),
        ("[]", "object"),
        ("{}", "ready, stuck"),
        ('{"outcome": "done", "summary": "x"}', "ready, stuck"),
        ('{"outcome": 1, "summary": "x"}', "ready, stuck"),
        ('{"outcome": "ready"}', "summary"),
        ('{"outcome": "ready", "summary": " \\n"}', "white space"),
        ('{"outcome": "ready", "summary": 5}', "summary"),
        ('{"outcome": "ready", "summary": "' + "x" * 2001 + '"}', "2001"),
        ('{"outcome": "ready", "summary": "x", "note": "y"}', "note"),
    ],
)
def test_anything_else_is_answered_with_what_to_correct(raw: str, says: str) -> None:
    """A correction is a sentence the agent can act on."""
    read = result.read(raw, outcomes=OUTCOMES)
    assert isinstance(read, Correction)
    assert says in read.sentence
