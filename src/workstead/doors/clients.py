"""Clients: how each assistant people use is told where Workstead is and what its token is (D08)."""

import json
from dataclasses import dataclass

TOKEN_VARIABLE = "WORKSTEAD_TOKEN"  # noqa: S105 - the name of a variable
TOKEN_SHOWN = "ws_ast_..."  # noqa: S105 - what stands where a token belongs

_NAME = "workstead"


@dataclass(frozen=True, kw_only=True)
class Setup:
    """One client's set-up. where: the command line or the file that takes the text."""

    client: str
    title: str
    where: str
    text: str


def setups(address: str, *, token: str = TOKEN_SHOWN) -> tuple[Setup, ...]:
    """The set-up of every known client. address: of the server, without a path."""
    url = f"{address}/mcp"
    bearer = f"Bearer {token}"
    claude = f'claude mcp add --transport http {_NAME} {url} --header "Authorization: {bearer}"'
    codex = f'[mcp_servers.{_NAME}]\nurl = "{url}"\nbearer_token_env_var = "{TOKEN_VARIABLE}"'
    gemini = {"mcpServers": {_NAME: {"httpUrl": url, "headers": {"Authorization": bearer}}}}
    asked = f"Bearer ${{env:{TOKEN_VARIABLE}}}"
    cursor = {"mcpServers": {_NAME: {"url": url, "headers": {"Authorization": asked}}}}
    code = {
        "inputs": [{"id": "workstead-token", "type": "promptString", "description": "Token", "password": True}],
        "servers": {
            _NAME: {"type": "http", "url": url, "headers": {"Authorization": "Bearer ${input:workstead-token}"}}
        },
    }
    local = {"command": "workstead", "args": ["bridge"], "env": {"WORKSTEAD_URL": address, TOKEN_VARIABLE: token}}
    frame = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    curl = f"curl {url} -H 'Authorization: {bearer}' -H 'Content-Type: application/json' -d '{frame}'"
    in_variable = f"with the token in the variable {TOKEN_VARIABLE}"
    return (
        Setup(client="claude-code", title="Claude Code", where="a terminal", text=claude),
        Setup(client="codex", title="Codex", where=f"~/.codex/config.toml, {in_variable}", text=codex),
        Setup(client="gemini", title="Gemini CLI", where="~/.gemini/settings.json", text=_shown(gemini)),
        Setup(client="cursor", title="Cursor", where=f"~/.cursor/mcp.json, {in_variable}", text=_shown(cursor)),
        Setup(client="vscode", title="VS Code", where=".vscode/mcp.json, which asks for the token", text=_shown(code)),
        Setup(
            client="stdio",
            title="A program that starts a local process",
            where="its file of servers",
            text=_shown({"mcpServers": {_NAME: local}}),
        ),
        Setup(client="http", title="Plain HTTP", where="a terminal", text=curl),
    )


def _shown(value: object) -> str:
    return json.dumps(value, indent=2)
