"""Builders: assistants, and messages to the MCP door as bare HTTP."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from support import instance
from support.instance import Instance
from support.server import Answer, Running
from workstead.accounts import assistants, credentials
from workstead.accounts.assistants import NewAssistant
from workstead.accounts.uses import Uses
from workstead.clock import Clock
from workstead.doors.mcp.door import Behind, Rates, build
from workstead.doors.mcp.endpoint import Endpoint
from workstead.doors.mcp.library import Library
from workstead.kernel.access import AssistantProof, Permission
from workstead.kernel.acts import AnyAct
from workstead.kernel.redaction import Redactor

READS = frozenset({Permission.PROJECTS_READ, Permission.RUNS_READ})
EDITS = READS | {Permission.PROJECTS_WRITE}
STATELESS = "2026-07-28"


def assistant(path: Path, **given: Any) -> AssistantProof:
    """An assistant of a person's, as its door would hold it."""
    return AssistantProof(digest=credentials.digest(token(path, **given)))


def token(
    path: Path,
    *,
    owner_id: str,
    permissions: frozenset[Permission] = EDITS,
    projects: frozenset[str] | None = None,
    operations: frozenset[str] | None = None,
    days: int = 30,
    clock: Clock | None = None,
) -> str:
    """A fresh assistant's token."""
    wanted = NewAssistant(name="helper", permissions=permissions, projects=projects, operations=operations, days=days)
    with instance.transaction(path, clock=clock) as tx:
        made, _ = assistants.add(tx, wanted, owner_id=owner_id)
    return made


def endpoint(
    live: Instance,
    *,
    uses: Uses | None = None,
    per_minute: int = 600_000,
    per_account: int = 600_000,
    per_address: int = 600_000,
    failures: int = 600_000,
    library: Library | None = None,
    acts: Sequence[AnyAct] = (),
) -> Endpoint:
    """The door over an instance's own operations."""
    behind = Behind(
        operations=live.operations,
        effects=live.effects,
        redactor=Redactor(),
        uses=uses or Uses(),
        library=library or Library(),
        acts=tuple(acts),
    )
    rates = Rates(calls=per_minute, account_calls=per_account, requests=per_address, failures=failures)
    return build(behind, rates, clock=live.clock)


def token_of(live: Running, name: str, *permissions: str, projects: object = "all", **more: object) -> str:
    """A fresh assistant's token, made by the operator of a live server."""
    given = {"name": name, "permissions": list(permissions or sorted(EDITS)), "projects": projects, **more}
    with live.control() as control:
        return str(control.operation("create_assistant", given)["token"])


def revoke(live: Running, name: str) -> None:
    """End an assistant by its name."""
    with live.control() as control:
        control.operation("revoke_assistant", {"assistant": name})


def send(live: Running, token: str | None, body: object, **headers: str) -> Answer:
    """POST a body to the door: JSON, or bytes as they are."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"} | headers
    if token is not None:
        sent["Authorization"] = f"Bearer {token}"
    return live.request("POST", "/mcp", body=raw, headers=sent)


def ask(live: Running, token: str | None, method: str, params: object = None, **headers: str) -> Answer:
    """One request of a revision that has handshakes."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method} | ({} if params is None else {"params": params})
    return send(live, token, body, **({"MCP-Protocol-Version": "2025-11-25"} | headers))


def ask_stateless(
    live: Running, token: str, method: str, params: Mapping[str, object] | None = None, **headers: str
) -> Answer:
    """One request of the newest revision, with headers and body that agree unless a test says otherwise."""
    meta = {f"io.modelcontextprotocol/{key}": value for key, value in ENVELOPE.items()}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**(params or {}), "_meta": meta}}
    sent = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": method}
    named = {"resources/read": "uri"}.get(method, "name")
    if params is not None and named in params:
        sent["Mcp-Name"] = str(params[named])
    return send(live, token, body, **(sent | headers))


ENVELOPE: dict[str, object] = {"protocolVersion": STATELESS, "clientCapabilities": {}}


def call(live: Running, token: str, name: str, **arguments: object) -> dict[str, Any]:
    """The result of one tool call."""
    answer = ask(live, token, "tools/call", {"name": name, "arguments": arguments})
    assert answer.status == 200, answer.text
    return cast("dict[str, Any]", json.loads(answer.text)["result"])


def refused(result: Mapping[str, Any]) -> str:
    """The code of a tool call that was refused."""
    assert result["isError"], result
    return str(json.loads(result["content"][0]["text"])["code"])


def failed(answer: Answer) -> int:
    """The code of an answer that is a protocol error."""
    return int(json.loads(answer.text)["error"]["code"])
