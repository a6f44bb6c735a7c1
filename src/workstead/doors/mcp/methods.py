"""Methods: what each message of the protocol is answered with, for every revision."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, cast

from workstead import errors, instance
from workstead.accounts import authority
from workstead.accounts.uses import OK, Uses
from workstead.doors.limits import Active, Allowance
from workstead.doors.mcp import results, revisions
from workstead.doors.mcp.frames import INVALID_PARAMS, METHOD_NOT_FOUND, Message, ProtocolError
from workstead.doors.mcp.library import Library, Run
from workstead.doors.mcp.reading import Reading
from workstead.doors.mcp.revisions import STATELESS, Revision
from workstead.doors.mcp.tools import Entry, Toolbox
from workstead.kernel import acts, redaction
from workstead.kernel.access import Assistant, AssistantProof
from workstead.kernel.acts import Act, AnyAct, Report
from workstead.kernel.canonical import Json
from workstead.kernel.effects import Effects
from workstead.kernel.operations import Door, Effect, Operations
from workstead.kernel.redaction import Redactor

INSTRUCTIONS = (
    "Workstead is a workplace where agents do a person's projects as cards. You act for the person who made your "
    "token, within the projects and permissions they chose; `list_projects` shows where. Name a project by its short "
    "name. A refusal says what to do: correct your call, wait, or ask the person. Give every change a `request_id`: "
    "repeating it returns the first answer and changes nothing. `search_documentation` and the resources "
    "`workstead://guides/...` say how things work here; begin with `workstead://guides/getting-started`."
)

CAPABILITIES: Mapping[str, object] = {
    "completions": {},
    "prompts": {"listChanged": False},
    "resources": {"listChanged": False, "subscribe": False},
    "tools": {"listChanged": False},
}

_SERVER_KEY = "io.modelcontextprotocol/serverInfo"
_TOOLS_KEPT_MS = 0  # authority may change with the next call


@dataclass(frozen=True, kw_only=True)
class Request:
    """One message and who sent it. id: names the request in the log and in every error."""

    id: str
    message: Message
    revision: Revision
    digest: str
    assistant: Assistant
    at: str
    report: Report = acts.unheard


Method = Callable[[Request], Awaitable[Mapping[str, object]]]
Read = Callable[[Revision, Mapping[str, Json], Run], Awaitable[dict[str, object]]]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one assistant, and all of one account, may call in a minute, and how many changes may be under way."""

    calls: Allowance
    accounts: Allowance
    active: Active


class Methods:
    """The dispatcher. acts: tools beside the operations. library: what is read by address, and prompts."""

    def __init__(
        self,
        *,
        operations: Operations,
        effects: Effects,
        redactor: Redactor,
        uses: Uses,
        limits: Limits,
        library: Library,
        acts: Iterable[AnyAct] = (),
    ) -> None:
        self._operations = operations
        self._acts = tuple(acts)
        self._effects = effects
        self._redactor = redactor
        self._uses = uses
        self._limits = limits
        reading = Reading(library, redactor=redactor)
        both: dict[str, Method] = {
            "tools/call": self._call,
            "tools/list": self._list,
            "resources/list": partial(self._read, reading.resources),
            "resources/templates/list": partial(self._read, reading.templates),
            "resources/read": partial(self._read, reading.read),
            "prompts/list": partial(self._read, reading.prompts),
            "prompts/get": partial(self._read, reading.prompt),
            "completion/complete": partial(self._read, reading.complete),
        }
        self._handshake: dict[str, Method] = {**both, "initialize": _initialize, "ping": _ping}
        self._stateless: dict[str, Method] = {**both, "server/discover": _discover}

    @cached_property
    def toolbox(self) -> Toolbox:
        """Every tool; made when the first assistant asks, because their schemas cost time and memory."""
        return Toolbox([*self._operations.table.values(), *self._acts])

    def brief(self, message: Message) -> bool:
        """Whether a message only reads the database: there is nothing to withdraw when its client goes away."""
        if message.method != "tools/call":
            return True
        tool = self.toolbox.tools.get(str(message.params.get("name")))
        return tool is None or (not isinstance(tool.entry, Act) and tool.entry.effect is Effect.READ)

    async def answer(self, request: Request) -> Mapping[str, object]:
        """The result of a request.

        Raises ProtocolError, and `unauthenticated` when the token has ended in the meantime.
        """
        stateless = request.revision == STATELESS
        method = (self._stateless if stateless else self._handshake).get(request.message.method)
        if method is None:
            named = request.message.method[:100]
            raise ProtocolError(code=METHOD_NOT_FOUND, message=f"There is no method {named!r} in {request.revision}.")
        if request.message.method.endswith("/list") and request.message.params.get("cursor") is not None:
            # facts/mcp.md 6, line 14: a list that goes on for ever would begin with a cursor that is taken.
            raise ProtocolError(code=INVALID_PARAMS, message="Every list here has one page; there is no such cursor.")
        if method != self._call:
            self._noted(request, request.message.method, OK)
        found = await method(request)
        if not stateless:
            return found
        meta = cast("Mapping[str, Json]", found.get("_meta", {}))
        return {**found, "resultType": "complete", "_meta": {**meta, _SERVER_KEY: _server()}}

    async def _list(self, request: Request) -> Mapping[str, object]:
        standing = self._effects.glance(lambda tx: authority.standing(tx, request.digest))
        found: dict[str, object] = {"tools": self.toolbox.listed(standing, request.revision)}
        return found | _kept(request.revision)

    async def _call(self, request: Request) -> Mapping[str, object]:
        name = request.message.params.get("name")
        given = request.message.params.get("arguments")
        arguments = {} if given is None else given
        if not isinstance(name, str) or not isinstance(arguments, dict):
            message = "tools/call takes a tool's name and an object of arguments."
            raise ProtocolError(code=INVALID_PARAMS, message=message)
        tool = self.toolbox.tools.get(name)
        if tool is None:
            self._noted(request, "", "tool_unknown")
            message = f"Unknown tool: {name[:100]!r}. List the tools again; they may have changed."
            raise ProtocolError(code=INVALID_PARAMS, message=message)
        entry = tool.entry
        try:
            self._require_calls_left(request)
            if entry.effect is Effect.READ:
                answered = await self._performed(request, entry, arguments)
            else:
                answered = await self._changed(request, entry, arguments)
        except errors.Refusal as refused:
            self._noted(request, name, refused.code)
            if refused.kind is errors.Kind.UNAUTHENTICATED:
                raise
            return results.refusal(refused, redactor=self._redactor, request_id=request.id)
        self._noted(request, name, OK)
        shown = cast("Json", entry.adapter.dump_python(answered, mode="json"))
        media = entry.shows(answered) if entry.shows is not None else ()
        exact = not isinstance(entry, Act) and entry.exact
        return results.answer(shown, request.revision, redactor=self._redactor, media=media, exact=exact)

    async def _changed(self, request: Request, entry: Entry, arguments: dict[str, Json]) -> object:
        """Perform a change, which holds a place among those under way; raises `limit`, `busy` and `invalid`."""
        if redaction.holds_placeholder(arguments):
            message = "The input holds a placeholder of a hidden secret; writing it would destroy what it stands for."
            raise errors.invalid("placeholder_in_write", message)
        with self._limits.active.one(request.assistant.owner.id):
            return await self._performed(request, entry, arguments)

    async def _performed(self, request: Request, entry: Entry, arguments: dict[str, Json]) -> object:
        proof = AssistantProof(digest=request.digest)
        if not isinstance(entry, Act):
            return await self._operations.run(proof, entry.name, arguments, door=Door.MCP)

        async def report(*, done: float, total: float | None = None, message: str = "") -> None:
            await request.report(done=done, total=total, message=self._redactor.text(message).text)

        return await acts.run(entry, proof, arguments, report=report)

    async def _read(self, read: Read, request: Request) -> Mapping[str, object]:
        """What Reading answers; every operation it runs is counted and limited like a call of its own."""

        async def run(name: str, given: Mapping[str, object]) -> Any:
            operation = self._operations.table[name]
            try:
                self._require_calls_left(request)
                proof = AssistantProof(digest=request.digest)
                answered = await self._operations.run(proof, name, given, door=Door.MCP)
            except errors.Refusal as refused:
                self._noted(request, name, refused.code)
                raise
            self._noted(request, name, OK)
            return operation.adapter.dump_python(answered, mode="json")

        return await read(request.revision, request.message.params, run) | _kept(request.revision)

    def _require_calls_left(self, request: Request) -> None:
        """Take one call of the assistant's and of its account's minute; raises `limit`."""
        sender = request.assistant
        wait_s = self._limits.calls.take(sender.id)
        whose = "This assistant has"
        if wait_s is None:
            wait_s = self._limits.accounts.take(sender.owner.id)
            whose = "The assistants of this account have together"
        if wait_s is not None:
            message = f"{whose} used the calls of this minute; there is one in {wait_s:.1f} s."
            raise errors.limit("rate_limited", message, retry_after_s=round(wait_s, 1))

    def _noted(self, request: Request, operation: str, code: str) -> None:
        self._uses.note(request.assistant.id, operation=operation, code=code, at=request.at)


async def _initialize(request: Request) -> Mapping[str, object]:
    asked = request.message.params.get("protocolVersion")
    if not isinstance(asked, str):
        raise ProtocolError(code=INVALID_PARAMS, message="initialize names its protocolVersion.")
    return {
        "protocolVersion": revisions.negotiated(asked),
        "capabilities": CAPABILITIES,
        "serverInfo": _server(),
        "instructions": INSTRUCTIONS,
    }


async def _ping(_: Request) -> Mapping[str, object]:
    return {}


async def _discover(request: Request) -> Mapping[str, object]:
    found: dict[str, object] = {
        "supportedVersions": [*reversed(revisions.ALL)],
        "capabilities": CAPABILITIES,
        "instructions": INSTRUCTIONS,
    }
    return found | _kept(request.revision)


def _kept(revision: Revision) -> dict[str, object]:
    """How long a client may keep an answer that belongs to one credential."""
    return {"ttlMs": _TOOLS_KEPT_MS, "cacheScope": "private"} if revision == STATELESS else {}


def _server() -> dict[str, Json]:
    return {"name": "workstead", "title": "Workstead", "version": instance.VERSION}
