"""What an address asks for behind its question mark, read strictly."""

from starlette.requests import Request

from workstead import errors

_DIGITS = 9
_TEXT_CHARS = 200


def number(request: Request, name: str) -> int | None:
    """A number, None when it is not asked for. Raises `invalid` for anything else."""
    given = request.query_params.get(name)
    if given is None:
        return None
    if not (given.isascii() and given.isdigit() and len(given) <= _DIGITS):
        raise errors.invalid("number_invalid", f"Follow the links of the page; `{name}` is a number.")
    return int(given)


def needed(request: Request, name: str) -> int:
    """A number that must be there. Raises `invalid` when it is not."""
    found = number(request, name)
    if found is None:
        raise errors.invalid("number_missing", f"Follow the links of the page; it has no `{name}`.")
    return found


def text(request: Request, name: str) -> str:
    """A short text without blanks around it; empty when it is not asked for."""
    return request.query_params.get(name, "")[:_TEXT_CHARS].strip()
