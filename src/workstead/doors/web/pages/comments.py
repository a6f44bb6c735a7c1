"""The form that adds a comment to a card's timeline."""

from starlette.requests import Request
from starlette.responses import Response

from workstead import errors
from workstead.doors.web import forms
from workstead.doors.web.desk import Desk, see
from workstead.doors.web.pages import cards


async def add(desk: Desk, request: Request) -> Response:
    """Comment; what was refused stays in the composer."""
    given = await forms.fields(request)
    slug, card_id = request.path_params["slug"], request.path_params["card_id"]
    text = forms.field(given, "text").replace("\r\n", "\n")
    wanted = {"project": slug, "card_id": card_id, "text": text, "request_id": forms.field(given, "key")}
    try:
        made = await desk.run(request, "comment_on_card", wanted)
    except errors.Refusal as refusal:
        if refusal.kind not in {errors.Kind.INVALID, errors.Kind.BUSY, errors.Kind.LIMIT}:
            raise
        return await cards.cockpit(desk, request, draft=text, refused=refusal)
    return see(f"/projects/{slug}/cards/{card_id}#t-comment-{made['id']}")
