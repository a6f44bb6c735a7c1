"""Arguments of a call: strict reading, and the closed schema the model is shown."""

from enum import StrEnum
from typing import Any

import pytest
from pydantic import Field

from workstead import errors
from workstead.agents.tools import arguments
from workstead.kernel.operations import Input


class Colour(StrEnum):
    """A closed set."""

    BLUE = "blue"
    RED = "red"


class Inner(Input):
    """Inside."""

    title: str = Field(description="A field may be called title.")


class Example(Input):
    """A docstring for programmers."""

    colour: Colour = Field(description="Which.")
    inner: Inner
    many: tuple[Inner, ...] = ()
    count: int | None = Field(default=None, ge=1, description="How many.")
    request_id: str | None = None


@pytest.mark.covers("W06", "W17")
def test_a_schema_is_closed_and_stands_alone() -> None:
    """Facts 2.3: every input object is closed; no provider resolves references for us."""
    shown: Any = arguments.schema(Example, without=frozenset({"request_id"}))
    assert shown["additionalProperties"] is False
    assert shown["required"] == ["colour", "inner"]
    assert list(shown["properties"]) == ["colour", "inner", "many", "count"]
    assert shown["properties"]["colour"]["enum"] == ["blue", "red"]
    assert shown["properties"]["colour"]["description"] == "Which."
    assert shown["properties"]["inner"]["additionalProperties"] is False
    assert shown["properties"]["inner"]["properties"]["title"]["type"] == "string"
    assert shown["properties"]["many"]["items"]["properties"]["title"]["type"] == "string"
    assert shown["properties"]["count"] == {"description": "How many.", "minimum": 1, "type": "integer"}
    assert "$" not in str(shown)


@pytest.mark.covers("W17")
@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("{", "json_malformed"),
        ("[]", "arguments_invalid"),
        ('"x"', "arguments_invalid"),
        ('{"a": 1, "a": 2}', "json_invalid"),
        ('{"a": NaN}', "json_invalid"),
        ('{"a": "\\u0000"}', "json_invalid"),
        ('{"a": "\\ud800"}', "json_invalid"),
        ('{"a": "\ud800"}', "arguments_invalid"),
        ("{" + '"a":{' * 70 + "}" * 71, "json_invalid"),
        ('"' + "x" * (arguments.LIMIT_BYTES + 1) + '"', "json_too_large"),
    ],
)
def test_what_a_model_wrote_is_read_strictly(raw: str, code: str) -> None:
    """Facts 2.3: bad JSON is rejected before execution."""
    with pytest.raises(errors.Refusal) as refused:
        arguments.load(raw)
    assert refused.value.code == code


def test_no_arguments_are_an_empty_object() -> None:
    """Some wires send nothing for a call without arguments."""
    assert arguments.load("") == {}


@pytest.mark.covers("W17")
def test_each_mistake_has_its_path() -> None:
    """Quality, "bad input"."""
    with pytest.raises(errors.Refusal) as refused:
        arguments.check(Example, {"colour": "green", "inner": {"titel": "x"}, "more": 1})
    assert {issue.path for issue in refused.value.issues} == {"colour", "inner.title", "inner.titel", "more"}
    assert arguments.check(Example, {"colour": "red", "inner": {"title": "x"}}).colour is Colour.RED
