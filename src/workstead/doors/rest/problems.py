"""Problems: a refusal as the API says it (RFC 9457), with the code and advice that every door gives."""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from workstead import errors
from workstead.doors import http
from workstead.errors import Kind
from workstead.kernel import canonical
from workstead.kernel.redaction import Redactor

MEDIA_TYPE = "application/problem+json"

_TITLES = {
    400: "The request cannot be used",
    401: "Nobody we know",
    403: "You may not do this",
    404: "Not here",
    405: "Not in this way",
    408: "Too slow",
    409: "It does not fit what is there",
    413: "Too large",
    415: "Another kind of body",
    429: "Too much at once",
    500: "Something went wrong in the server",
    503: "Not now",
}


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One answer that is a problem. headers: beside its body."""

    status: int
    body: bytes
    headers: Mapping[str, str]


def of(refused: errors.Refusal, *, redactor: Redactor, request_id: str) -> Problem:
    """A refusal with its status; 401 says how to come back, and what may be tried again says when."""
    said = {
        "code": refused.code,
        "advice": refused.advice.value,
        "details": canonical.parse(canonical.dump(dict(refused.details))),
        "issues": [{"path": issue.path, "message": issue.message} for issue in refused.issues],
    }
    headers: dict[str, str] = {}
    if refused.kind is Kind.UNAUTHENTICATED:
        headers["www-authenticate"] = 'Bearer realm="workstead"'
    wait_s = refused.details.get("retry_after_s")
    if isinstance(wait_s, int | float):
        headers["retry-after"] = str(int(wait_s) + 1)
    return _made(
        http.status_of(refused), refused.message, said, redactor=redactor, request_id=request_id, headers=headers
    )


def plain(
    status: int, message: str, *, redactor: Redactor, request_id: str, headers: Mapping[str, str] | None = None
) -> Problem:
    """A problem of HTTP itself."""
    return _made(status, message, {}, redactor=redactor, request_id=request_id, headers=headers or {})


def _made(
    status: int,
    message: str,
    said: Mapping[str, object],
    *,
    redactor: Redactor,
    request_id: str,
    headers: Mapping[str, str],
) -> Problem:
    whole = {
        "type": "about:blank",
        "title": _TITLES.get(status, "Refused"),
        "status": status,
        "detail": message,
        "request_id": request_id,
        **said,
    }
    shown = redactor.tree(canonical.parse(canonical.dump(whole))).value
    return Problem(status=status, body=orjson.dumps(shown), headers=headers)
