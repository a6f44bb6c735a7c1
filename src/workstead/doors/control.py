"""The control socket: the command line's door, one JSON value a line, for the server's own user only (K22)."""

import os
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import cast
from uuid import uuid4

import anyio
from anyio.abc import SocketAttribute, SocketListener, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from workstead import errors
from workstead.doors.watch import ServerFacts, Watch
from workstead.kernel import canonical
from workstead.kernel.access import ControlProof, Permission, Proof
from workstead.kernel.canonical import Json
from workstead.kernel.feed import FeedRow
from workstead.kernel.operations import AnswerRule, Door, Operations
from workstead.kernel.redaction import Redactor
from workstead.logger import get_logger

LINE_LIMIT_BYTES = 4 * 1024 * 1024

_PEER = struct.Struct("iII")  # pid, uid, gid of the other end
_LOG = get_logger()

Procedure = Callable[[Proof, Mapping[str, Json]], Awaitable[Json]]
"""Something longer than one operation that the command line asks for by name."""


@dataclass(frozen=True, kw_only=True)
class Control:
    """What the door needs. doctor: facts about this machine. procedures: by name, for the command line only."""

    operations: Operations
    watch: Watch
    facts: ServerFacts
    redactor: Redactor
    doctor: Callable[[], Mapping[str, Json]]
    procedures: Mapping[str, Procedure] = field(default_factory=dict)

    async def serve(self, listening: socket.socket) -> None:
        """Answer everybody who connects, until cancelled."""
        async with await SocketListener.from_socket(listening) as listener:
            await listener.serve(self._attend)

    async def _attend(self, stream: SocketStream) -> None:
        async with stream:
            try:
                uid = peer_uid(stream.extra(SocketAttribute.raw_socket))  # noqa: S610 - not a database
                if uid != os.geteuid():
                    refused = errors.denied("peer_denied", "Only the account that runs the server may use this.")
                    await _send(stream, refusal_reply(refused))
                    return
                await self._converse(stream, ControlProof(uid=uid))
            except (anyio.BrokenResourceError, anyio.EndOfStream, anyio.ClosedResourceError):
                return

    async def _converse(self, stream: SocketStream, proof: Proof) -> None:
        lines = BufferedByteReceiveStream(stream)
        while True:
            try:
                line = await lines.receive_until(b"\n", LINE_LIMIT_BYTES + 1)
            except anyio.IncompleteRead:
                return
            except anyio.DelimiterNotFound:
                too_long = errors.invalid("line_too_long", f"A request has at most {LINE_LIMIT_BYTES} bytes a line.")
                await _send(stream, refusal_reply(too_long))
                return
            try:
                await self._answer(stream, proof, line)
            except errors.Refusal as refusal:
                await _send(stream, self._redacted(refusal_reply(refusal)))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                raise
            except Exception:  # noqa: BLE001
                # A door is where the unexpected ends (house style, line 32): the trace stays here, its id goes out.
                trace_id = uuid4().hex
                _LOG.exception("control request failed", trace_id=trace_id)
                await _send(stream, _internal(trace_id))

    async def _answer(self, stream: SocketStream, proof: Proof, line: bytes) -> None:
        request = canonical.load(line, limit_bytes=LINE_LIMIT_BYTES)
        if not isinstance(request, dict):
            raise _unknown_request()
        match request:
            case {"hello": True}:
                await _send(stream, {"ok": True, "answer": self._hello()})
            case {"operation": str(name), "input": dict(raw)}:
                answer = await self.operations.run(proof, name, raw, door=Door.CLI)
                operation = self.operations.table[name]
                reply: dict[str, Json] = {"ok": True, "answer": operation.adapter.dump_python(answer, mode="json")}
                # What is shown once is shown exactly, or never.
                exact = operation.answer is AnswerRule.ONCE
                await _send(stream, reply if exact else self._redacted(reply))
            case {"follow": str(project)}:
                await self._follow(stream, proof, project, after=_cursor(request))
            case {"sign_in_link": True}:
                await _send(stream, {"ok": True, "answer": await self.sign_in_link(proof)})
            case {"doctor": True}:
                self.watch.require(proof, Permission.INSTANCE_READ, what="doctor")
                await _send(stream, self._redacted({"ok": True, "answer": dict(self.doctor())}))
            case {"procedure": str(name), "input": dict(raw)} if name in self.procedures:
                answer = await self.procedures[name](proof, raw)
                await _send(stream, self._redacted({"ok": True, "answer": answer}))
            case _:
                raise _unknown_request()

    async def sign_in_link(self, proof: Proof) -> dict[str, Json]:
        """A fresh link; the one secret that this door shows, so nothing redacts it."""
        made = await self.operations.run(proof, "make_sign_in_link", {}, door=Door.CLI)
        return {"link": f"{self.facts.address}/sign-in?link={made.secret}", "lifetime_s": made.lifetime_s}

    def _hello(self) -> Json:
        level = self.doctor().get("isolation")
        offered: list[Json] = [*sorted(name for name, each in self.operations.table.items() if Door.CLI in each.doors)]
        facts = self.facts
        return {
            "boot_id": facts.boot_id,
            "pid": facts.pid,
            "version": facts.version,
            "address": facts.address,
            "started_at": facts.started_at,
            "isolation": level,
            "operations": offered,
        }

    async def _follow(self, stream: SocketStream, proof: Proof, project: str, *, after: int | None) -> None:
        async for page in self.watch.project(proof, project, after=after):
            rows: list[Json] = [_row(row) for row in page.rows]
            await _send(stream, {"rows": rows, "cursor": next(iter(page.cursor.values()))})

    def _redacted(self, reply: dict[str, Json]) -> dict[str, Json]:
        return cast("dict[str, Json]", self.redactor.tree(reply).value)


def peer_uid(connected: socket.socket) -> int:
    """The account at the other end, as the system saw it when it connected."""
    raw = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    _, uid, _ = _PEER.unpack(raw)
    return int(uid)


def refusal_reply(refusal: errors.Refusal) -> dict[str, Json]:
    """A refusal as this door says it."""
    issues: list[Json] = [{"path": issue.path, "message": issue.message} for issue in refusal.issues]
    return {
        "ok": False,
        "kind": refusal.kind.value,
        "code": refusal.code,
        "message": refusal.message,
        "details": canonical.parse(canonical.dump(dict(refusal.details))),
        "issues": issues,
        "advice": refusal.advice.value,
    }


def _internal(trace_id: str) -> dict[str, Json]:
    message = f"Something went wrong in the server; its log has the details under {trace_id}."
    refusal = errors.unavailable("internal", message, trace_id=trace_id)
    return {**refusal_reply(refusal), "kind": "internal"}


def _unknown_request() -> errors.Refusal:
    return errors.invalid("request_unknown", "Send an object with `operation` and `input`, `follow`, or `hello`.")


def _cursor(request: Mapping[str, Json]) -> int | None:
    cursor = request.get("cursor")
    if cursor is None:
        return None
    if isinstance(cursor, bool) or not isinstance(cursor, int) or cursor < 0:
        raise errors.invalid("cursor_invalid", "A cursor is the number that an earlier line gave.")
    return cursor


def _row(row: FeedRow) -> Json:
    return {"seq": row.seq, "at": row.at, "event": row.event.value, "topic": row.topic, "revision": row.revision}


async def _send(stream: SocketStream, reply: Mapping[str, Json]) -> None:
    await stream.send(canonical.dump(dict(reply)) + b"\n")
