"""The OpenAPI 3.1 document, made of the table and of the operations' own schemas."""

from collections.abc import Mapping
from typing import cast

from workstead import instance
from workstead.agents.tools import arguments
from workstead.doors.rest import problems
from workstead.doors.rest.table import ROUTES, Route
from workstead.kernel.canonical import Json
from workstead.kernel.operations import AnyOperation, Effect

_PROBLEM: Json = {
    "type": "object",
    "description": "A refusal (RFC 9457): what is wrong and what to do.",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "A sentence a person can act on."},
        "request_id": {"type": "string", "description": "The server's log has the details under it."},
        "code": {"type": "string", "description": "Stable, for programs."},
        "advice": {"type": "string", "description": "What to do about it, in four ways."},
        "details": {"type": "object"},
        "issues": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "message": {"type": "string"}},
                "required": ["path", "message"],
            },
        },
    },
    "required": ["type", "title", "status", "detail", "request_id"],
}
_REFUSED: Json = {
    "description": "Refused; the body says why and what to do.",
    "content": {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
_TEXT = (
    "Every operation of Workstead as plain HTTP. Sign in with a personal token: `Authorization: Bearer ws_api_...`. "
    "Give a change a `request_id` (or an `Idempotency-Key` header): repeated, it returns the first answer and changes "
    "nothing. Lists carry `next`; send it back unchanged. What the answer hides is named in `Workstead-Redacted`."
)


def document(operations: Mapping[str, AnyOperation], *, address: str) -> dict[str, Json]:
    """The whole document. operations: by name; every one that the table names is in it."""
    schemas: dict[str, Json] = {"Problem": _PROBLEM}
    paths: dict[str, Json] = {}
    for route in ROUTES:
        item = cast("dict[str, Json]", paths.setdefault(route.path, {}))
        item[route.method.lower()] = _operation(route, operations[route.operation], schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Workstead", "version": instance.VERSION, "description": _TEXT},
        "servers": [{"url": address}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": "A personal token."}},
        },
        "security": [{"token": []}],
    }


def fields(operation: AnyOperation) -> Mapping[str, Json]:
    """The schema of every field of an operation's input."""
    return cast("Mapping[str, Json]", arguments.schema(operation.input)["properties"])


def _operation(route: Route, operation: AnyOperation, schemas: dict[str, Json]) -> Json:
    whole = arguments.schema(operation.input)
    properties = cast("dict[str, Json]", whole["properties"])
    required = set(cast("list[str]", whole["required"]))
    parameters: list[Json] = [
        {"name": name, "in": "path", "required": True, "schema": properties[name]} for name in route.in_path
    ]
    rest = {name: schema for name, schema in properties.items() if name not in route.in_path}
    made: dict[str, Json] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": _needs(operation),
        "tags": [route.path.split("/")[4] if route.path.count("/") > 3 else route.path.split("/")[2]],
    }
    if route.has_body:
        asked: list[Json] = [*sorted(required - set(route.in_path))]
        schema: Json = {"type": "object", "properties": rest, "required": asked, "additionalProperties": False}
        made["requestBody"] = {"required": bool(asked), "content": {"application/json": {"schema": schema}}}
    else:
        parameters += [
            {"name": name, "in": "query", "required": name in required, "schema": schema}
            for name, schema in rest.items()
        ]
    made["parameters"] = parameters
    answer: Json = {
        "description": "Done." if operation.effect is not Effect.READ else "Read.",
        "content": {"application/json": {"schema": _answer(operation, schemas)}},
    }
    made["responses"] = {str(route.status): answer, "default": _REFUSED}
    return made


def _needs(operation: AnyOperation) -> str:
    needed = ", ".join(f"`{each.value}`" for each in sorted(operation.permissions))
    return f"Needs {needed}." if needed else "Needs a sign-in."


def _answer(operation: AnyOperation, schemas: dict[str, Json]) -> Json:
    """The answer's schema; what it is made of stands once among the document's components."""
    whole = cast(
        "dict[str, Json]",
        operation.adapter.json_schema(mode="serialization", ref_template="#/components/schemas/{model}"),
    )
    parts = cast("dict[str, Json]", whole.pop("$defs", {}))
    # Two packages may have a word in common; the later answer's part is then called after its operation too.
    own = "".join(word.capitalize() for word in operation.name.split("_"))
    named = {name: name if schemas.get(name, schema) == schema else f"{own}{name}" for name, schema in parts.items()}
    for name, schema in parts.items():
        schemas[named[name]] = _renamed(schema, named)
    return cast("dict[str, Json]", _renamed(whole, named))


def _renamed(value: Json, named: Mapping[str, str]) -> Json:
    """The same schema with its parts called as they are named now."""
    if isinstance(value, list):
        return [_renamed(each, named) for each in value]
    if not isinstance(value, dict):
        return value
    reference = value.get("$ref")
    if isinstance(reference, str):
        place, _, name = reference.rpartition("/")
        return value | {"$ref": f"{place}/{named.get(name, name)}"}
    return {key: _renamed(each, named) for key, each in value.items()}
