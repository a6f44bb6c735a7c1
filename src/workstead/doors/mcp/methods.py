"""Methods: what each message of the protocol is answered with, for every revision."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from workstead import errors, instance
from workstead.accounts import authority
from workstead.accounts.uses import OK, Uses
from workstead.doors.mcp import results, revisions
from workstead.doors.mcp.frames import INVALID_PARAMS, METHOD_NOT_FOUND, Message, ProtocolError
from workstead.doors.mcp.limits import Active, Allowance
from workstead.doors.mcp.revisions import STATELESS, Revision
from workstead.doors.mcp.tools import Toolbox
from workstead.kernel import redaction
from workstead.kernel.access import Assistant, AssistantProof
from workstead.kernel.canonical import Json
from workstead.kernel.effects import Effects
from workstead.kernel.operations import Door, Effect, Operations
from workstead.kernel.redaction import Redactor

INSTRUCTIONS = (
    "Workstead is a workplace where agents do a person's projects as cards. You act for the person who made your "
    "token, within the projects and permissions they chose; `list_projects` shows where. Name a project by its short "
    "name. A refusal says what to do: correct your call, wait, or ask the person. Give every change a `request_id`: "
    "repeating it returns the first answer and changes nothing."
)

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


Method = Callable[[Request], Awaitable[Mapping[str, object]]]


class Methods:
    """The dispatcher."""

    def __init__(
        self, *, operations: Operations, effects: Effects, redactor: Redactor, uses: Uses, calls: Allowance
    ) -> None:
        self._operations = operations
        self._effects = effects
        self._redactor = redactor
        self._uses = uses
        self._calls = calls
        self._active = Active()
        both: dict[str, Method] = {"tools/call": self._call, "tools/list": self._list}
        self._handshake: dict[str, Method] = {**both, "initialize": _initialize, "ping": _ping}
        self._stateless: dict[str, Method] = {**both, "server/discover": _discover}

    @cached_property
    def toolbox(self) -> Toolbox:
        """Every tool; made when the first assistant asks, because their schemas cost time and memory."""
        return Toolbox(self._operations.table.values())

    def brief(self, message: Message) -> bool:
        """Whether a message only reads: there is nothing to withdraw when its client goes away."""
        if message.method != "tools/call":
            return True
        tool = self.toolbox.tools.get(str(message.params.get("name")))
        return tool is None or tool.operation.effect is Effect.READ

    async def answer(self, request: Request) -> Mapping[str, object]:
        """The result of a request.

        Raises ProtocolError, and `unauthenticated` when the token has ended in the meantime.
        """
        stateless = request.revision == STATELESS
        method = (self._stateless if stateless else self._handshake).get(request.message.method)
        if method is None:
            named = request.message.method[:100]
            raise ProtocolError(code=METHOD_NOT_FOUND, message=f"There is no method {named!r} in {request.revision}.")
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
        operation = tool.operation
        try:
            with self._admitted(request, changes=operation.effect is not Effect.READ, arguments=arguments):
                proof = AssistantProof(digest=request.digest)
                answered = await self._operations.run(proof, name, arguments, door=Door.MCP)
        except errors.Refusal as refused:
            self._noted(request, name, refused.code)
            if refused.kind is errors.Kind.UNAUTHENTICATED:
                raise
            return results.refusal(refused, redactor=self._redactor, request_id=request.id)
        self._noted(request, name, OK)
        shown = cast("Json", operation.adapter.dump_python(answered, mode="json"))
        return results.answer(shown, request.revision, redactor=self._redactor)

    @contextmanager
    def _admitted(self, request: Request, *, changes: bool, arguments: dict[str, Json]) -> Iterator[None]:
        """Hold what limits give; raises `limit`, `busy`, and `invalid` for a change with a hidden secret in it."""
        wait_s = self._calls.take(request.assistant.id)
        if wait_s is not None:
            message = f"This assistant has used its calls of this minute; there is one in {wait_s:.1f} s."
            raise errors.limit("rate_limited", message, retry_after_s=round(wait_s, 1))
        if changes and _hidden(arguments):
            message = "The input holds a placeholder of a hidden secret; writing it would destroy what it stands for."
            raise errors.invalid("placeholder_in_write", message)
        with self._active.one(request.assistant.owner.id) if changes else nullcontext():
            yield

    def _noted(self, request: Request, operation: str, code: str) -> None:
        self._uses.note(request.assistant.id, operation=operation, code=code, at=request.at)


async def _initialize(request: Request) -> Mapping[str, object]:
    asked = request.message.params.get("protocolVersion")
    if not isinstance(asked, str):
        raise ProtocolError(code=INVALID_PARAMS, message="initialize names its protocolVersion.")
    return {
        "protocolVersion": revisions.negotiated(asked),
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": _server(),
        "instructions": INSTRUCTIONS,
    }


async def _ping(_: Request) -> Mapping[str, object]:
    return {}


async def _discover(request: Request) -> Mapping[str, object]:
    found: dict[str, object] = {
        "supportedVersions": [*reversed(revisions.ALL)],
        "capabilities": {"tools": {"listChanged": False}},
        "instructions": INSTRUCTIONS,
    }
    return found | _kept(request.revision)


def _kept(revision: Revision) -> dict[str, object]:
    """How long a client may keep an answer that belongs to one credential."""
    return {"ttlMs": _TOOLS_KEPT_MS, "cacheScope": "private"} if revision == STATELESS else {}


def _server() -> dict[str, Json]:
    return {"name": "workstead", "title": "Workstead", "version": instance.VERSION}


def _hidden(value: Json) -> bool:
    """Whether a placeholder of ours stands in it somewhere."""
    if isinstance(value, str):
        return redaction.contains_placeholder(value)
    if isinstance(value, dict):
        return any(_hidden(each) for each in value.values())
    return isinstance(value, list) and any(_hidden(each) for each in value)
