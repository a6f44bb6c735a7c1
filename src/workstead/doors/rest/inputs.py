"""Inputs: an operation's input from address, query, body and header; text becomes what the field's schema says."""

from collections.abc import Mapping, Sequence
from typing import cast
from urllib.parse import parse_qsl

from starlette.types import Scope

from workstead import errors
from workstead.doors import http
from workstead.doors.rest.table import Route
from workstead.kernel import canonical
from workstead.kernel.canonical import Json

Schema = Mapping[str, Json]

_FIELDS_MOST = 100
_INTEGER_DIGITS = 19
_KEY_HEADER = "idempotency-key"


def of_request(scope: Scope, route: Route, *, path: Mapping[str, str], body: bytes, fields: Schema) -> dict[str, Json]:
    """The whole input. Raises `invalid` where it says something twice, and for a body that cannot be read."""
    found: dict[str, Json] = {name: _value(text, fields.get(name)) for name, text in path.items()}
    rest = _body(scope, body) if route.has_body else _query(scope, fields)
    if route.has_body and scope["query_string"]:
        raise errors.invalid("query_unexpected", "Send the input of a change in its body, not in the query.")
    twice = sorted(found.keys() & rest.keys())
    if twice:
        issues = [errors.Issue(path=name, message="this stands in the address already") for name in twice]
        raise errors.invalid("field_repeated", f"Leave out {', '.join(twice)}: the address names it.", issues=issues)
    found |= rest
    key = http.headers_of(scope).get(_KEY_HEADER)
    if key is not None and "request_id" in fields and found.setdefault("request_id", key) != key:
        message = "The body's request_id and the Idempotency-Key header differ; send one of them."
        raise errors.invalid("field_repeated", message)
    return found


def _body(scope: Scope, body: bytes) -> dict[str, Json]:
    if not body:
        return {}
    kind = http.headers_of(scope).get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise errors.invalid("body_not_json", "Send the body as application/json.")
    value = canonical.load(body, limit_bytes=http.BODY_LIMIT_BYTES)
    if not isinstance(value, dict):
        issue = errors.Issue(path="$", message="the body is one JSON object")
        raise errors.invalid("body_not_object", "Send one JSON object.", issues=[issue])
    return value


def _query(scope: Scope, fields: Schema) -> dict[str, Json]:
    try:
        text = cast("bytes", scope["query_string"]).decode("ascii")
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_FIELDS_MOST)
    except ValueError:
        raise errors.invalid("query_invalid", "The query is not UTF-8 that was escaped for an address.") from None
    found: dict[str, Json] = {}
    for name, text in pairs:
        schema = fields.get(name)
        if _is_list(schema):
            cast("list[Json]", found.setdefault(name, [])).append(_value(text, _items(schema)))
        elif name in found:
            issue = errors.Issue(path=name, message="this came twice")
            raise errors.invalid("field_repeated", f"Send {name} once.", issues=[issue])
        else:
            found[name] = _value(text, schema)
    return found


def _value(text: str, schema: Json) -> Json:
    """The text as the field wants it; what does not fit stays text, and the operation says what is wrong with it."""
    kinds = {each.get("type") for each in _ways(schema)}
    digits = text.removeprefix("-")
    if "integer" in kinds and digits.isascii() and digits.isdigit() and len(digits) <= _INTEGER_DIGITS:
        return int(text)
    if "boolean" in kinds and text in {"true", "false"}:
        return text == "true"
    return text


def _ways(schema: Json) -> Sequence[dict[str, Json]]:
    if not isinstance(schema, dict):
        return ()
    choices = schema.get("anyOf")
    return [each for each in choices if isinstance(each, dict)] if isinstance(choices, list) else (schema,)


def _is_list(schema: Json) -> bool:
    return any(each.get("type") == "array" for each in _ways(schema))


def _items(schema: Json) -> Json:
    return next((each.get("items") for each in _ways(schema) if each.get("type") == "array"), None)
