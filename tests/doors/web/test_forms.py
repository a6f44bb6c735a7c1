"""Forms: what is no form of ours is refused before anything is done."""

import pytest
from starlette.requests import Request
from starlette.types import Message

from workstead import errors
from workstead.doors.web import forms


async def test_fields_come_as_they_were_typed() -> None:
    """Blanks, plus signs and text in any script stay."""
    request = posted(b"title=a%2Bb+c&note=&name=%C3%A9t%C3%A9")
    assert await forms.fields(request) == {"title": "a+b c", "note": "", "name": "été"}


@pytest.mark.parametrize("body", [b"a", b"a=1&a=2", b"a=%ff", b"a=\xff", b"&".join(b"f%d=1" % n for n in range(101))])
async def test_a_malformed_form_is_refused(body: bytes) -> None:
    """A field that came twice would mean one thing to us and another to whoever sent it."""
    with pytest.raises(errors.Refusal) as refused:
        await forms.fields(posted(body))
    assert refused.value.code == "form_invalid"


async def test_another_kind_of_body_is_refused() -> None:
    """JSON from a script of another page is no form."""
    with pytest.raises(errors.Refusal):
        await forms.fields(posted(b"{}", kind=b"application/json"))


def test_a_missing_field_is_named() -> None:
    """Architecture: issue paths become field messages."""
    with pytest.raises(errors.Refusal) as refused:
        forms.field({}, "key")
    assert [issue.path for issue in refused.value.issues] == ["key"]


def posted(body: bytes, *, kind: bytes = b"application/x-www-form-urlencoded; charset=utf-8") -> Request:
    """A request with a body."""

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request({"type": "http", "method": "POST", "headers": [(b"content-type", kind)]}, receive)
