"""The bridge: for assistants' programs that run a local process, from its standard streams to the door over HTTP.

It needs Python 3.11 and nothing else, so this one file also runs where Workstead is not installed:
`WORKSTEAD_URL=https://... WORKSTEAD_TOKEN=ws_ast_... python bridge.py`. Messages pass through as they are.
"""

import base64
import contextlib
import http.client
import ipaddress
import json
import os
import ssl
import sys
import threading
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from socket import SHUT_RDWR
from typing import Any

LINE_LIMIT_BYTES = 1024 * 1024
ANSWER_LIMIT_BYTES = 16 * 1024 * 1024
WAIT_S = 300.0

_CALLS_AT_ONCE = 8
_DEFAULT_URL = "http://127.0.0.1:8777"
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_UNREACHABLE = -32000


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where the door is. token: never printed."""

    host: str
    port: int
    secure: bool
    token: str


class Bridge:
    """Passes each line on and prints what comes back, several at once."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._printing = threading.Lock()
        self._revision: str | None = None
        self._lines: dict[str, http.client.HTTPConnection] = {}
        self._left: set[str] = set()

    def serve(self) -> None:
        """Until the end of standard input; calls that are under way are waited for."""
        with ThreadPoolExecutor(max_workers=_CALLS_AT_ONCE) as pool:
            while line := sys.stdin.buffer.readline(LINE_LIMIT_BYTES + 1):
                if len(line) > LINE_LIMIT_BYTES:
                    complain(f"a message is longer than {LINE_LIMIT_BYTES} bytes")
                    return
                message = _read(line)
                if message is None:
                    continue
                if message.get("method") == "initialize":
                    self._pass(line, message)  # what is agreed on here stands in the headers of what follows
                elif message.get("method") == "notifications/cancelled":
                    self._hang_up(message)  # over HTTP a call is taken back by leaving
                else:
                    pool.submit(self._pass, line, message)

    def _pass(self, line: bytes, message: dict[str, Any]) -> None:
        try:
            status, body = self._post(line, message)
        except (OSError, ValueError, http.client.HTTPException) as failed:
            identity = json.dumps(message.get("id"))
            if identity in self._left:
                self._left.discard(identity)  # whoever took it back waits for no answer
                return
            self._fail(message, f"Workstead cannot be reached ({type(failed).__name__}); is its server running?")
            return
        answer = _read(body)
        if status == 202:
            return
        if answer is None or (status != 200 and "error" not in answer):
            self._fail(message, f"Workstead answered with status {status}.")
            return
        if message.get("method") == "initialize" and "result" in answer:
            self._revision = answer["result"].get("protocolVersion")
        # An error about a message that was refused as a whole names no id; its sender waits under its own.
        self._print(answer if answer.get("id") is not None else {**answer, "id": message.get("id")}, message)

    def _post(self, line: bytes, message: dict[str, Any]) -> tuple[int, bytes]:
        target = self._target
        connection: http.client.HTTPConnection
        if target.secure:
            context = ssl.create_default_context()
            connection = http.client.HTTPSConnection(target.host, target.port, timeout=WAIT_S, context=context)
        else:
            connection = http.client.HTTPConnection(target.host, target.port, timeout=WAIT_S)
        identity = json.dumps(message.get("id"))
        try:
            self._lines[identity] = connection
            connection.request("POST", "/mcp", body=line, headers=self._headers(message))
            answer = connection.getresponse()
            if answer.headers.get_content_type() == "text/event-stream":
                return answer.status, self._followed(answer, message)
            body = answer.read(ANSWER_LIMIT_BYTES + 1)
        finally:
            self._lines.pop(identity, None)
            connection.close()
        if len(body) > ANSWER_LIMIT_BYTES:
            raise http.client.HTTPException("answer too long")
        return answer.status, body

    def _followed(self, answer: http.client.HTTPResponse, message: dict[str, Any]) -> bytes:
        """Print what is reported meanwhile; the last event, which has an id, is the answer."""
        while line := answer.readline(ANSWER_LIMIT_BYTES + 1):
            if len(line) > ANSWER_LIMIT_BYTES:
                raise http.client.HTTPException("answer too long")
            if not line.startswith(b"data:"):
                continue
            event = _read(line.removeprefix(b"data:"))
            if event is not None and "method" not in event:
                return line.removeprefix(b"data:")
            if event is not None:
                self._print(event, message)
        raise http.client.HTTPException("the answer broke off")

    def _hang_up(self, message: dict[str, Any]) -> None:
        params = message.get("params")
        identity = json.dumps(params.get("requestId")) if isinstance(params, dict) else ""
        line = self._lines.get(identity)
        socket = line.sock if line is not None else None
        if socket is not None:
            self._left.add(identity)
            with contextlib.suppress(OSError):
                socket.shutdown(SHUT_RDWR)  # who reads from it sees its end, and the server that nobody waits

    def _headers(self, message: dict[str, Any]) -> dict[str, str]:
        headers = {
            "Authorization": f"Bearer {self._target.token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        found = message.get("params")
        params = found if isinstance(found, dict) else {}
        meta = params.get("_meta")
        revision = meta.get(_VERSION_KEY) if isinstance(meta, dict) else None
        method = message.get("method")
        if isinstance(revision, str) and isinstance(method, str):
            headers |= {"MCP-Protocol-Version": _wrapped(revision), "Mcp-Method": _wrapped(method)}
            named = params.get(_NAMED.get(method, ""))
            if isinstance(named, str):
                headers["Mcp-Name"] = _wrapped(named)
        elif self._revision is not None:
            headers["MCP-Protocol-Version"] = self._revision
        return headers

    def _fail(self, message: dict[str, Any], text: str) -> None:
        complain(text)
        self._print(
            {"jsonrpc": "2.0", "id": message.get("id"), "error": {"code": _UNREACHABLE, "message": text}}, message
        )

    def _print(self, answer: dict[str, Any], message: dict[str, Any]) -> None:
        if message.get("id") is None:
            return
        with self._printing:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


def target_of(environ: dict[str, str]) -> Target:
    """Where the environment says that the door is; raises ValueError with a sentence that names no value."""
    token = environ.get("WORKSTEAD_TOKEN", "")
    if not token.isascii() or not token.startswith("ws_ast_") or token != token.strip():
        raise ValueError("WORKSTEAD_TOKEN must hold an assistant's token (ws_ast_...)")
    parts = urllib.parse.urlsplit(environ.get("WORKSTEAD_URL", _DEFAULT_URL))
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path not in {"", "/", "/mcp"}:
        raise ValueError("WORKSTEAD_URL must be the server's address, as https://workstead.example")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("WORKSTEAD_URL must be an address alone, without a user, a query or a fragment")
    secure = parts.scheme == "https"
    if not secure and not _is_loopback(parts.hostname):
        raise ValueError("WORKSTEAD_URL must be https, unless it is this machine: the token would travel readable")
    return Target(host=parts.hostname, port=parts.port or (443 if secure else 80), secure=secure, token=token)


def complain(text: str) -> None:
    """A line for the person who looks at the program's log."""
    sys.stderr.write(f"workstead bridge: {text}\n")
    sys.stderr.flush()


def main() -> None:
    """Bridge until standard input ends; exit code 1 when the environment does not say where to."""
    try:
        target = target_of(dict(os.environ))
    except ValueError as wrong:
        complain(f"{wrong}.")
        sys.exit(1)
    Bridge(target).serve()


def _read(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _wrapped(text: str) -> str:
    """The text as a header may carry it."""
    plain = text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?")
    return text if plain else f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


if __name__ == "__main__":
    main()
