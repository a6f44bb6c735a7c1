"""Reading: the methods for resources, prompts and completions; everything of a project is read as its operation."""

from collections.abc import Mapping, Sequence
from typing import cast

from workstead import errors
from workstead.doors.mcp import results
from workstead.doors.mcp.frames import INVALID_PARAMS, RATE_LIMITED, RESOURCE_NOT_FOUND, ProtocolError
from workstead.doors.mcp.library import Library, Prompt, Run, Suggest
from workstead.doors.mcp.revisions import OLDEST, STATELESS, Revision
from workstead.kernel.canonical import Json
from workstead.kernel.redaction import Redactor

COMPLETIONS_MOST = 100

_URI_LIMIT_CHARS = 2_000
_RETRY = frozenset({errors.Kind.BUSY, errors.Kind.LIMIT})


class Reading:
    """The methods, over one library. Each raises ProtocolError, and `unauthenticated` as it is."""

    def __init__(self, library: Library, *, redactor: Redactor) -> None:
        self._library = library
        self._redactor = redactor
        self._fixed = {each.uri: each for each in library.resources}
        self._prompts = {each.name: each for each in library.prompts}

    async def resources(self, revision: Revision, _: Mapping[str, Json], run: Run) -> dict[str, object]:
        """What can be read, in one page: the fixed ones, and what this caller sees."""
        shown: list[Mapping[str, str]] = [
            {
                "uri": each.uri,
                "name": each.name,
                "title": each.title,
                "description": each.description,
                "mimeType": each.mime_type,
            }
            for each in self._library.resources
        ]
        if self._library.listed is not None:
            try:
                shown += await self._library.listed(run)
            except errors.Refusal as refused:
                # A credential without the permission still sees the guides.
                if refused.kind is not errors.Kind.DENIED:
                    raise
        return {"resources": [_fitting(each, revision) for each in shown]}

    async def templates(self, revision: Revision, _: Mapping[str, Json], __: Run) -> dict[str, object]:
        """Addresses with places, in one page."""
        shown = [
            {
                "uriTemplate": each.uri_template,
                "name": each.name,
                "title": each.title,
                "description": each.description,
                "mimeType": each.mime_type,
            }
            for each in self._library.templates
        ]
        return {"resourceTemplates": [_fitting(each, revision) for each in shown]}

    async def read(self, revision: Revision, params: Mapping[str, Json], run: Run) -> dict[str, object]:
        """The text or bytes behind an address."""
        uri = params.get("uri")
        if not isinstance(uri, str):
            raise ProtocolError(code=INVALID_PARAMS, message="resources/read takes a uri.")
        fixed = self._fixed.get(uri)
        if fixed is not None:
            # The same for everybody, from the package: nothing to hide, and an example of a key stays readable.
            return {"contents": [results.contents(uri, fixed.mime_type, fixed.read())]}
        try:
            found = await self._content(uri, run)
        except errors.Refusal as refused:
            raise _failed(refused, revision, uri) from None
        if found is None:
            raise _not_found(revision, uri, f"There is no resource {uri[:200]!r} that you can see.")
        mime_type, data = found
        shown = self._redactor.text(data) if isinstance(data, str) else None
        altered = shown is not None and shown.altered
        content = results.contents(uri, mime_type, shown.text if shown is not None else data)
        return {"contents": [content]} | ({"_meta": {results.REDACTED_KEY: True}} if altered else {})

    async def prompts(self, revision: Revision, _: Mapping[str, Json], __: Run) -> dict[str, object]:
        """What a person can start from, in one page."""
        shown = [
            _fitting({"name": each.name, "title": each.title, "description": each.description}, revision)
            | {
                "arguments": [
                    {"name": one.name, "description": one.description, "required": one.required}
                    for one in each.arguments
                ]
            }
            for each in self._library.prompts
        ]
        return {"prompts": shown}

    async def prompt(self, _: Revision, params: Mapping[str, Json], __: Run) -> dict[str, object]:
        """A prompt with what the person added."""
        found = self._named(params.get("name"))
        given = params.get("arguments") or {}
        if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
            raise ProtocolError(code=INVALID_PARAMS, message="A prompt's arguments are an object of texts.")
        try:
            said = found.say(cast("Mapping[str, str]", given))
        except errors.Refusal as refused:
            raise ProtocolError(code=INVALID_PARAMS, message=refused.message, data={"code": refused.code}) from None
        messages = [{"role": "user", "content": results.content(each, redactor=self._redactor)} for each in said]
        return {"description": found.description, "messages": messages}

    async def complete(self, revision: Revision, params: Mapping[str, Json], run: Run) -> dict[str, object]:
        """What a place of an address or an argument of a prompt can be filled with."""
        reference, argument, context = params.get("ref"), params.get("argument"), params.get("context")
        if not isinstance(reference, dict) or not isinstance(argument, dict):
            raise ProtocolError(code=INVALID_PARAMS, message="completion/complete takes a ref and an argument.")
        name, typed = argument.get("name"), argument.get("value")
        if not isinstance(name, str) or not isinstance(typed, str):
            raise ProtocolError(code=INVALID_PARAMS, message="An argument has a name and a value, both texts.")
        others = context.get("arguments") if isinstance(context, dict) else None
        given = others if isinstance(others, dict) else {}
        texts = {key: value for key, value in given.items() if isinstance(value, str)}
        suggest = self._suggesting(reference, name, revision)
        try:
            found = await suggest(run, texts) if suggest is not None else ()
        except errors.Refusal as refused:
            if refused.kind in {errors.Kind.UNAUTHENTICATED, *_RETRY}:
                raise _failed(refused, revision, "") from None
            found = ()  # what the caller may not know is not suggested
        return {"completion": _narrowed(found, typed)}

    async def _content(self, uri: str, run: Run) -> tuple[str, str | bytes] | None:
        """Its kind and what is in it; None when no address of ours looks like that."""
        if len(uri) > _URI_LIMIT_CHARS:
            return None
        for each in self._library.templates:
            places = each.places(uri)
            if places is not None:
                return each.mime_type, await each.read(run, places)
        return None

    def _named(self, name: Json) -> Prompt:
        found = self._prompts.get(name) if isinstance(name, str) else None
        if found is None:
            raise ProtocolError(code=INVALID_PARAMS, message=f"Unknown prompt: {str(name)[:100]!r}.")
        return found

    def _suggesting(self, reference: Mapping[str, Json], name: str, revision: Revision) -> Suggest | None:
        kind = reference.get("type")
        if kind == "ref/prompt":
            found = {each.name: each.suggest for each in self._named(reference.get("name")).arguments}
            if name not in found:
                raise ProtocolError(code=INVALID_PARAMS, message=f"This prompt has no argument {name[:100]!r}.")
            return found[name]
        if kind == "ref/resource":
            uri = str(reference.get("uri"))
            template = next((each for each in self._library.templates if each.uri_template == uri), None)
            if template is None:
                raise _not_found(revision, uri, "There is no such template of addresses.")
            return template.suggest.get(name)
        raise ProtocolError(code=INVALID_PARAMS, message="A ref is a ref/prompt or a ref/resource.")


def _narrowed(found: Sequence[str], typed: str) -> dict[str, Json]:
    """Those that begin as typed, then those that hold it."""
    wanted = typed.casefold()
    begins = [each for each in found if each.casefold().startswith(wanted)]
    holds = [each for each in found if wanted in each.casefold() and each not in begins]
    fitting: list[Json] = [*begins, *holds]
    shown = fitting[:COMPLETIONS_MOST]
    return {"values": shown, "total": len(fitting), "hasMore": len(fitting) > len(shown)}


def _fitting(shown: Mapping[str, object], revision: Revision) -> dict[str, object]:
    return {key: value for key, value in shown.items() if revision != OLDEST or key != "title"}


def _failed(refused: errors.Refusal, revision: Revision, uri: str) -> Exception:
    if refused.kind is errors.Kind.UNAUTHENTICATED:
        return refused
    if refused.kind is errors.Kind.NOT_FOUND:
        return _not_found(revision, uri, refused.message)
    code = RATE_LIMITED if refused.kind in _RETRY else INVALID_PARAMS
    said: dict[str, Json] = {"code": refused.code, "advice": refused.advice.value}
    wait_s = refused.details.get("retry_after_s")
    if isinstance(wait_s, int | float):
        said["retry_after_s"] = wait_s
    return ProtocolError(code=code, message=refused.message, data=said)


def _not_found(revision: Revision, uri: str, message: str) -> ProtocolError:
    code = INVALID_PARAMS if revision == STATELESS else RESOURCE_NOT_FOUND
    return ProtocolError(code=code, message=message, data={"uri": uri[:_URI_LIMIT_CHARS]})
