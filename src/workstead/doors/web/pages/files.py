"""A project's files: folders, safe previews, and the exact bytes of pictures (W24)."""

import base64
import re
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from workstead import errors
from workstead.doors.web import file_views, place, queries
from workstead.doors.web.desk import Desk, see
from workstead.doors.web.file_views import Crumb, FileView, FolderView
from workstead.doors.web.place import Place

_RECORD = re.compile(r"record:///([a-z0-9.-]+)(?:\?card=([a-z0-9-]+))?(?:&v=([1-9][0-9]{0,8}))?")
_CARD = re.compile(r"card:///([a-z0-9-]+)")
_SOURCE, _RENDERED = "source", "rendered"
_PICTURE_POLICY = "default-src 'none'; sandbox"
_SAID = {
    "binary": "This is no text. Its size and digest say which one it is.",
    "large": "This text is longer than 4 MiB and is not shown here.",
}


async def show(desk: Desk, request: Request) -> Response:
    """A folder, a file, or where an address leads."""
    where, _ = await place.of_project(desk, request)
    wanted = queries.text(request, "address")
    if wanted:
        return see(_leads_to(where, wanted))
    address = _address(request)
    if address not in {"", file_views.WORK}:
        try:
            return await _file(desk, request, where, address)
        except errors.Refusal as refusal:
            if refusal.code != "path_not_file":
                raise
    return await _folder(desk, request, where, address)


async def picture(desk: Desk, request: Request) -> Response:
    """A picture's exact bytes, under a policy in which nothing in them can act."""
    found = await desk.run(request, "read_picture", {"project": request.path_params["slug"], "path": _address(request)})
    headers = {"content-security-policy": _PICTURE_POLICY, "cache-control": "private, no-cache"}
    return Response(base64.b64decode(found["content"]), media_type=found["mime_type"], headers=headers)


async def _folder(desk: Desk, request: Request, where: Place, address: str) -> Response:
    position = request.query_params.get("at")
    found = await desk.run(request, "list_files", {"project": where.slug, "path": address, "position": position})
    above, here = file_views.crumbs(where.root, found["address"])
    base = file_views.href(where.root, found["address"])
    in_work = found["address"].startswith(file_views.WORK)
    view = FolderView(
        title=f"{here} of {where.name}" if above else f"Files of {where.name}",
        person=where.person,
        topic=where.topic,
        place=where,
        crumbs=above,
        here=here,
        entries=tuple(file_views.entry(one, where.root) for one in found["entries"] if "name" in one),
        total=found["total"],
        later=_with(base, at=found["next"]) if found["next"] else None,
        elsewhere=Crumb(name="The project's files", href=f"{where.root}/files")
        if in_work
        else Crumb(name="What commands printed", href=file_views.href(where.root, file_views.WORK)),
    )
    return desk.renderer.page(view)


async def _file(desk: Desk, request: Request, where: Place, address: str) -> Response:
    offset = queries.number(request, "offset") or 0
    found = await desk.run(request, "read_file", {"project": where.slug, "path": address, "offset": offset})
    above, here = file_views.crumbs(where.root, found["address"])
    base = file_views.href(where.root, found["address"])
    whole = found["offset"] == 0 and found["next_offset"] is None
    renders = found["kind"] in {"markdown", "json"} and whole
    show = request.query_params.get("show", _RENDERED if found["kind"] == "markdown" else _SOURCE)
    # Before it is cut into lines: a key can be longer than one.
    text = desk.redactor.text(found["content"]).text
    formatted = file_views.formatted(text) if renders and found["kind"] == "json" and show == _RENDERED else None
    as_markdown = renders and found["kind"] == "markdown" and show == _RENDERED
    labels = ("Rendered", "Source") if found["kind"] == "markdown" else ("Formatted", "Source")
    view = FileView(
        title=f"{here} of {where.name}",
        person=where.person,
        topic=where.topic,
        place=where,
        crumbs=above,
        here=here,
        address=found["address"],
        facts=file_views.facts(found),
        lines=() if as_markdown else file_views.numbered(formatted or text, 1 if formatted else found["line"]),
        text=text if as_markdown else None,
        picture=_picture_address(where, found),
        shows=tuple(zip(labels, (_with(base, show=_RENDERED), _with(base, show=_SOURCE)), strict=True))
        if renders
        else (),
        show=labels[0] if as_markdown or formatted else labels[1],
        said=_SAID.get(found["kind"]) or (None if text or found["kind"] == "picture" else "The file is empty."),
        earlier=base if found["offset"] else None,
        later=_with(base, offset=found["next_offset"]) if found["next_offset"] is not None else None,
    )
    return desk.renderer.page(view)


def _address(request: Request) -> str:
    path = str(request.path_params.get("path", ""))
    return f"{file_views.WORK}{path}" if request.query_params.get("in") == "work" else path


def _leads_to(where: Place, wanted: str) -> str:
    """The page of an address as agents write it. Raises `address_unknown`."""
    record, card = _RECORD.fullmatch(wanted), _CARD.fullmatch(wanted)
    if record is not None:
        name, card_id, version = record.groups()
        page = f"{where.root}/cards/{card_id or 'project'}/records/{name}"
        return f"{page}?version={version}" if version else page
    if card is not None:
        return f"{where.root}/cards/{card[1]}"
    path = wanted.removeprefix("project:///")
    if "://" in path and not path.startswith(file_views.WORK):
        message = "Write a path, work:///PATH, record:///NAME?card=CARD or card:///CARD."
        raise errors.invalid("address_unknown", message)
    return file_views.href(where.root, path)


def _picture_address(where: Place, found: dict[str, Any]) -> str | None:
    if found["kind"] != "picture":
        return None
    address = str(found["address"])
    tail = "?in=work" if address.startswith(file_views.WORK) else ""
    return f"{where.root}/pictures/{quote(address.removeprefix(file_views.WORK))}{tail}"


def _with(base: str, **given: object) -> str:
    return f"{base}{'&' if '?' in base else '?'}{urlencode(given)}"
