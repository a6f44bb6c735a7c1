"""Forms: the fields of a posted page, read strictly and within limits."""

from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.requests import Request

from workstead import errors

Fields = Mapping[str, str]

_TYPE = "application/x-www-form-urlencoded"
_FIELDS = 100


async def fields(request: Request) -> Fields:
    """The fields by name. Raises `invalid` for another kind of body, a repeated field or text that is not UTF-8."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _TYPE:
        raise errors.invalid("form_invalid", f"Send the form as {_TYPE}.")
    try:
        text = (await request.body()).decode("ascii")
        pairs = parse_qsl(
            text, keep_blank_values=True, strict_parsing=bool(text), errors="strict", max_num_fields=_FIELDS
        )
    except ValueError:
        raise errors.invalid("form_invalid", "The form could not be read; reload the page and send it again.") from None
    found = dict(pairs)
    if len(found) != len(pairs):
        raise errors.invalid("form_invalid", "A field of the form came twice; reload the page and send it again.")
    return found


def field(given: Fields, name: str) -> str:
    """One field that must be there. Raises `invalid` naming it."""
    if name not in given:
        issue = errors.Issue(path=name, message="this field is required")
        raise errors.invalid("form_invalid", f"The form has no {name}; reload the page.", issues=[issue])
    return given[name]
