"""Rows of a conversation as exchanges that a person can read."""

import json

import pytest

from workstead.doors.web import conversation_views
from workstead.doors.web.conversation_views import CUT_CHARS, SpokenView
from workstead.kernel.canonical import Json
from workstead.kernel.redaction import Redactor


@pytest.mark.covers("W13", "W28")
def test_a_call_and_its_result_are_one_exchange() -> None:
    """It is seen, item 1: tool calls and results readable."""
    found = seen(call(3, "read", {"path": "a.py"}), text(4, "Meanwhile."), result(5, {"content": "x = 1\ny = 2\n"}))
    assert [one.number for one in found] == [3, 4]
    first = found[0].call
    assert first is not None
    assert (first.tool, first.subject, first.state) == ("read", "a.py", "ok")
    assert [(part.name, part.kind, part.text) for part in first.result] == [("content", "text", "x = 1\ny = 2")]


@pytest.mark.covers("W13", "W28")
@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ({"success": False, "error": "There is no such file."}, "There is no such file."),
        ({"success": True, "data": {"exit_code": 2}}, "exit code 2"),
        ({"success": True, "data": {"exit_code": 0}}, None),
    ],
)
def test_what_went_wrong_stands_out(outcome: dict[str, Json], said: str | None) -> None:
    """A command that failed was called well, and is still what a reader looks for."""
    found = seen(call(1, "run_command", {"command": "make"}), row(2, "tool_result", {"result": outcome}))
    assert found[0].call is not None
    assert found[0].call.said == said
    assert found[0].call.state == ("failed" if said else "ok")


def test_a_call_without_a_result_waits_and_a_lonely_result_is_shown() -> None:
    """Windows of rows cut exchanges, and a call that goes on has no result yet."""
    waiting, lonely = seen(call(1, "read", {}), row(2, "tool_result", {"result": {"success": True}}, call_id="other"))
    assert waiting.call is not None
    assert waiting.call.state == "waiting"
    assert lonely.call is not None
    assert lonely.number == 2


def test_a_long_text_is_cut_in_the_page_and_whole_on_its_own() -> None:
    """A page of a hundred rows stays a page; one row is shown in full."""
    long = text(1, "x" * (CUT_CHARS + 1))
    assert (len(seen(long)[0].text), seen(long)[0].cut) == (CUT_CHARS, True)
    whole = conversation_views.exchanges([long], redact=redact, whole=True)[0]
    assert (len(whole.text), whole.cut) == (CUT_CHARS + 1, False)


@pytest.mark.covers("K09")
def test_a_secret_named_argument_is_hidden() -> None:
    """S21: a value is known as a secret by its name only while both are together."""
    found = seen(call(1, "tool", {"password": "hunter2-and-more"}))
    assert found[0].call is not None
    assert "hunter2" not in repr(found[0].call.given)


def test_a_patch_names_its_files_and_marks_its_lines() -> None:
    """The commonest call of all is read as a patch, not as JSON."""
    found = seen(call(1, "apply_patch", {"patch": "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n c"}))
    assert found[0].call is not None
    assert found[0].call.subject == "x.py"
    assert [kind for kind, _ in found[0].call.given[0].lines][2:] == ["place", "removed", "added", "same"]


def test_arguments_that_are_no_json_are_shown_as_they_came() -> None:
    """Models send what they send."""
    broken = row(1, "tool_call", {"arguments": "{broken", "id": "1"})
    found = seen(broken)
    assert found[0].call is not None
    assert found[0].call.given[0].text == "{broken"


def test_an_activation_says_where_it_enters_and_keeps_what_was_told_apart() -> None:
    """The prompt is long; who reads along wants the direction first."""
    begun = row(1, "activation", {"node": "plan", "entry": "BACKLOG", "direction": "Be quick.", "node_text": "Plan."})
    found = seen(begun)[0]
    assert (found.text, found.more) == ("Enters plan from backlog. Be quick.", "Plan.")


def seen(*rows: dict[str, object]) -> tuple[SpokenView, ...]:
    """The rows as a page shows them."""
    return conversation_views.exchanges(rows, redact=redact)


def redact(value: Json) -> Json:
    """What the desk does."""
    return Redactor().tree(value).value


def row(number: int, kind: str, content: Json, *, call_id: str | None = "c1") -> dict[str, object]:
    """A row as its operation answers it."""
    role = "tool" if kind == "tool_result" else "assistant"
    at = "2026-01-01T10:00:00.000000Z"
    return {
        "number": number,
        "kind": kind,
        "role": role,
        "at": at,
        "call_id": call_id,
        "tool": None,
        "content": content,
    }


def call(number: int, tool: str, given: dict[str, Json]) -> dict[str, object]:
    """A tool call."""
    return {**row(number, "tool_call", {"arguments": json.dumps(given), "id": "1"}), "tool": tool}


def result(number: int, data: Json) -> dict[str, object]:
    """The result of a call."""
    return row(number, "tool_result", {"id": "1", "result": {"success": True, "data": data}})


def text(number: int, said: str) -> dict[str, object]:
    """What an agent said."""
    return row(number, "text", {"text": said}, call_id=None)
