"""Results of tool calls: the answer as data and as text, or a refusal that says what to do about it."""

import orjson

from workstead import errors
from workstead.doors.mcp.revisions import OLDEST, Revision
from workstead.kernel import canonical
from workstead.kernel.canonical import Json
from workstead.kernel.redaction import Redactor

REDACTED_KEY = "io.workstead/redacted"


def answer(shown: Json, revision: Revision, *, redactor: Redactor) -> dict[str, Json]:
    """What an operation answered, redacted, twice: some clients read only one of the two."""
    found = redactor.tree(shown)
    made: dict[str, Json] = {"content": [_text(found.value)], "isError": False}
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


def _text(value: Json) -> Json:
    return {"type": "text", "text": orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()}
