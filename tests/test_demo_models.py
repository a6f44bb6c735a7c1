"""The demo with a model behind each real wire, played by a loopback server; no real provider was ever asked here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.model_server import serving
from support.player import Player
from workstead import demo_models, errors

ANTHROPIC_KEY = "sk-ant-canary-0123456789abcdef"
OPENAI_KEY = "sk-canary-0123456789abcdef"
KEYS = {"ANTHROPIC_API_KEY": ANTHROPIC_KEY, "OPENAI_API_KEY": OPENAI_KEY}


def run(*words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    left_out = ("WORKSTEAD_", *KEYS)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(left_out)} | settings
    environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    command = [sys.executable, "-m", "workstead.demo", "--headless", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environ, check=False)


@pytest.mark.covers("W15", "X01", "X03", "K09")
@pytest.mark.parametrize(
    ("provider", "api", "key"),
    [
        ("anthropic", "messages", ANTHROPIC_KEY),
        ("openai", "responses", OPENAI_KEY),
        ("openai-chat", "chat", OPENAI_KEY),
    ],
)
def test_a_model_does_the_example_and_its_cost_is_told(tmp_path: Path, provider: str, api: str, key: str) -> None:
    """docs/models.md, "Try it": the whole example over each protocol, with a key that nothing shows."""
    player, folder = Player(), tmp_path / "copy"
    words = ("--folder", str(folder), "--model", f"{provider}:clever-1")
    with serving(choose=player) as server:
        done = run(*words, "--base-url", server.url, "--price", "3/15", "--money", "5", **KEYS)
    assert (done.returncode, player.stuck) == (0, []), done.stdout + done.stderr
    calls = len(server.asked)
    assert {asked.api for asked in server.asked} == {api}
    assert {
        asked.headers.get("x-api-key") or asked.headers["authorization"].removeprefix("Bearer ")
        for asked in server.asked
    } == {key}
    for part in (
        f"Model: clever-1, asked at {server.url} with the key in ",
        "Budget: 5.00, 1,500,000 tokens, 60 minutes at most",
        f"model:clever-1: {calls} calls, {11 * calls:,} tokens in, {7 * calls:,} out, 0.0",
        "of 5.00 USD",
        "passes after",
    ):
        assert part in done.stdout
    written = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    for secret in KEYS.values():
        assert secret not in done.stdout + done.stderr
        assert not any(secret.encode() in content for content in written)
    assert not (folder / "practice.yaml").exists()


@pytest.mark.covers("X03")
def test_a_demo_that_its_budget_does_not_cover_says_so(tmp_path: Path) -> None:
    """X03: nothing is sent that the budget does not cover."""
    with serving(choose=Player()) as server:
        done = run(
            "--folder",
            str(tmp_path / "copy"),
            "--model",
            "openai-chat:m",
            "--base-url",
            server.url,
            "--tokens",
            "20000",
        )
    assert (done.returncode, 1 <= len(server.asked) < 28) == (4, True), done.stdout + done.stderr
    assert "The budget of the project is spent" in done.stdout
    assert "asked at" in done.stdout
    assert "without a key" in done.stdout
    assert all("authorization" not in asked.headers for asked in server.asked)


@pytest.mark.covers("W15")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--model", "anthropic:claude"), "ANTHROPIC_API_KEY is not set; set it to your key"),
        (("--model", "openai:gpt"), "OPENAI_API_KEY is not set"),
        (("--model", "gpt"), "Name a model as PROVIDER:MODEL"),
        (("--model", "openai:gpt", "--base-url", "http://127.0.0.1:9/v1", "--money", "1"), "--money needs --price"),
    ],
)
def test_a_demo_that_cannot_begin_says_why_and_makes_nothing(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    """quality.md, "Bad input"."""
    done = run("--folder", str(tmp_path / "copy"), *words)
    assert (done.returncode, said in done.stdout, "Traceback" in done.stderr) == (1, True, False), done.stdout
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"price": "3"}, "demo_price_malformed"),
        ({"price": "a/b"}, "demo_price_malformed"),
        ({"price": "1/2", "amount": "x"}, "demo_budget_malformed"),
    ],
)
def test_a_mistake_on_the_command_line_is_named(changed: dict[str, str], code: str) -> None:
    """quality.md, "Bad input"."""
    given: dict[str, str | None] = {"price": None, "amount": None}
    with pytest.raises(errors.Refusal) as refused:
        demo_models.choose("openai:m", base_url="http://x/v1", tokens=1, minutes=1, environ={}, **given | changed)
    assert refused.value.code == code
