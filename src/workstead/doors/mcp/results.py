"""Results: an operation's answer as data and as text, pieces of content, and refusals that say what to do."""

import base64
from collections.abc import Sequence

import orjson

from workstead import errors
from workstead.doors.mcp.revisions import OLDEST, Revision
from workstead.kernel import canonical
from workstead.kernel.canonical import Json
from workstead.kernel.media import Medium, Shown
from workstead.kernel.redaction import RedactedTree, Redactor

REDACTED_KEY = "io.workstead/redacted"


def answer(
    shown: Json, revision: Revision, *, redactor: Redactor, media: Sequence[Shown] = (), exact: bool = False
) -> dict[str, Json]:
    """What an operation answered, redacted unless it is exact, twice: some clients read only one of the two.

    media: stand after it.
    """
    found = RedactedTree(value=shown, altered=False) if exact else redactor.tree(shown)
    made: dict[str, Json] = {
        "content": [_text(found.value), *(content(each, redactor=redactor) for each in media)],
        "isError": False,
    }
    if revision != OLDEST:
        made["structuredContent"] = found.value
    if found.altered:
        made["_meta"] = {REDACTED_KEY: True}
    return made


def refusal(refused: errors.Refusal, *, redactor: Redactor, request_id: str) -> dict[str, Json]:
    """A no as a tool's error, without `structuredContent`, which would have to keep the tool's own schema."""
    issues: list[Json] = [{"path": issue.path, "message": issue.message} for issue in refused.issues]
    said: dict[str, Json] = {
        "code": refused.code,
        "message": refused.message,
        "advice": refused.advice.value,
        "details": canonical.parse(canonical.dump(dict(refused.details))),
        "issues": issues,
        "request_id": request_id,
    }
    return {"content": [_text(redactor.tree(said).value)], "isError": True}


def content(shown: Shown, *, redactor: Redactor) -> Json:
    """One piece of content: a text, a picture, a sound or a document. Text is redacted, bytes are exact (S21)."""
    if isinstance(shown, str):
        return {"type": "text", "text": redactor.text(shown).text}
    if isinstance(shown, Medium):
        return {"type": shown.kind, "data": _base64(shown.data), "mimeType": shown.mime_type}
    data = redactor.text(shown.data).text if isinstance(shown.data, str) else shown.data
    return {"type": "resource", "resource": contents(shown.uri, shown.mime_type, data)}


def contents(uri: str, mime_type: str, data: str | bytes) -> dict[str, Json]:
    """A resource's content as it is."""
    about: dict[str, Json] = {"uri": uri, "mimeType": mime_type}
    return about | ({"text": data} if isinstance(data, str) else {"blob": _base64(data)})


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _text(value: Json) -> Json:
    return {"type": "text", "text": orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()}
