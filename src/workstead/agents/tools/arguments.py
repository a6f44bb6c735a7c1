"""Arguments of a call: read strictly from what the model wrote, and the closed schema they are checked against."""

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import TypeVar, cast

import orjson
from pydantic import BaseModel, ValidationError

from workstead import errors
from workstead.agents.models.shape import ToolSchema
from workstead.agents.tools.tool import Act, Acted, CallSite
from workstead.kernel import canonical, operations
from workstead.kernel.canonical import Json
from workstead.kernel.operations import Input

LIMIT_BYTES = 2 << 20

A = TypeVar("A", bound=Input)


def load(raw: str) -> Mapping[str, Json]:
    """The arguments as the model wrote them, an object; raises `invalid` with the paths of what is wrong."""
    try:
        written = raw.encode()
    except UnicodeEncodeError:
        raise errors.invalid("arguments_invalid", "The arguments hold half of a surrogate pair.") from None
    value = canonical.load(written or b"{}", limit_bytes=LIMIT_BYTES)
    if not isinstance(value, dict):
        issue = errors.Issue(path="$", message="the arguments of a call are one JSON object")
        raise errors.invalid("arguments_invalid", "Write the arguments as one JSON object.", issues=[issue])
    return value


def check(model: type[A], given: Mapping[str, object]) -> A:
    """The typed arguments; raises `invalid` with a path for each mistake."""
    try:
        return model.model_validate_json(canonical.dump(dict(given)))
    except ValidationError as error:
        raise operations.input_refusal(error) from None
    except TypeError:
        message = "The arguments hold something JSON cannot carry (a lone surrogate, NaN or a number past 64 bits)."
        raise errors.invalid("arguments_invalid", message) from None


def acting(model: type[A], act: Callable[[CallSite, A], Awaitable[Acted]]) -> Act:
    """An act that checks its arguments first."""

    async def checked(site: CallSite, given: Mapping[str, object]) -> Acted:
        return await act(site, check(model, given))

    return checked


def described(name: str, description: str, model: type[BaseModel]) -> ToolSchema:
    """The tool as the model sees it."""
    return ToolSchema(name=name, description=description, parameters=schema(model))


def schema(model: type[BaseModel], *, without: frozenset[str] = frozenset()) -> dict[str, Json]:
    """The closed JSON Schema of a model: definitions inlined, titles dropped, some fields left out."""
    return cast("dict[str, Json]", canonical.parse(_written(model, without)))


@cache
def _written(model: type[BaseModel], without: frozenset[str]) -> bytes:
    # Making one takes milliseconds, and every node task asks for a dozen. A text, because readers add to the value.
    whole = cast("dict[str, Json]", model.model_json_schema())
    definitions = cast("dict[str, Json]", whole.pop("$defs", {}))
    plain = cast("dict[str, Json]", _plain(whole, definitions))
    plain.pop("description", None)  # the model's docstring speaks to programmers
    fields = cast("dict[str, Json]", plain.get("properties", {}))
    required = cast("list[Json]", plain.get("required", []))
    made: dict[str, Json] = {
        "type": "object",
        "properties": {name: field for name, field in fields.items() if name not in without},
        "required": [name for name in required if name not in without],
        "additionalProperties": False,
    }
    return orjson.dumps(made)


def _plain(value: Json, definitions: Mapping[str, Json]) -> Json:
    """The same schema without references, titles and the null that only says "may be left out"."""
    if isinstance(value, list):
        return [_plain(child, definitions) for child in value]
    if not isinstance(value, dict):
        return value
    reference = value.get("$ref")
    if isinstance(reference, str):
        beside = {key: child for key, child in value.items() if key != "$ref"}
        named = cast("dict[str, Json]", definitions[reference.rpartition("/")[2]])
        return _plain(named | beside, definitions)
    choices = value.get("anyOf")
    if isinstance(choices, list) and value.get("default", "") is None:
        real = [choice for choice in choices if choice != {"type": "null"}]
        if len(real) == 1:
            beside = {key: child for key, child in value.items() if key not in {"anyOf", "default"}}
            return _plain(cast("dict[str, Json]", real[0]) | beside, definitions)
    return {
        key: _fields(child, definitions) if key == "properties" else _plain(child, definitions)
        for key, child in value.items()
        if key != "title"
    }


def _fields(value: Json, definitions: Mapping[str, Json]) -> Json:
    """A field may itself be called `title`, so names are kept and only their schemas made plain."""
    fields = cast("dict[str, Json]", value)
    return {name: _plain(field, definitions) for name, field in fields.items()}
