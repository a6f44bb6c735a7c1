"""Set-ups of the clients people use: parsed as their programs parse them (D08)."""

import json
import shlex
import tomllib

import pytest

from workstead import settings
from workstead.doors import clients

pytestmark = pytest.mark.covers("D08")

URL = "http://127.0.0.1:8777/mcp"
BEARER = "Bearer ws_ast_x"


def found() -> dict[str, str]:
    return {one.client: one.text for one in clients.setups("http://127.0.0.1:8777", token="ws_ast_x")}


def test_commands_are_words_a_shell_reads_as_meant() -> None:
    """Claude Code is told by a command, plain HTTP is one."""
    claude = shlex.split(found()["claude-code"])
    assert claude[-2:] == ["--header", f"Authorization: {BEARER}"]
    assert URL in claude
    curl = shlex.split(found()["http"])
    assert curl[:4] == ["curl", URL, "-H", f"Authorization: {BEARER}"]
    assert json.loads(curl[-1])["method"] == "tools/list"


def test_files_hold_what_each_program_looks_for() -> None:
    """TOML for Codex, JSON for the others."""
    codex = tomllib.loads(found()["codex"])["mcp_servers"]["workstead"]
    assert codex == {"url": URL, "bearer_token_env_var": clients.TOKEN_VARIABLE}
    gemini = json.loads(found()["gemini"])["mcpServers"]["workstead"]
    assert gemini == {"httpUrl": URL, "headers": {"Authorization": BEARER}}
    assert json.loads(found()["cursor"])["mcpServers"]["workstead"]["url"] == URL
    code = json.loads(found()["vscode"])
    assert code["servers"]["workstead"]["url"] == URL
    assert f"${{input:{code['inputs'][0]['id']}}}" in code["servers"]["workstead"]["headers"]["Authorization"]


def test_a_token_in_the_environment_does_not_stop_the_server() -> None:
    """Its variable begins as settings do, and is none."""
    assert clients.TOKEN_VARIABLE in settings.OTHER_VARIABLES
