"""The command line's `secrets`: put a key in, see which are there, forget one. A value is never an argument."""

import getpass
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Annotated

import typer

from workstead import errors
from workstead.doors.control_client import Server
from workstead.terminal import Terminal

MAX_BYTES = 8192

Json = Annotated[bool, typer.Option("--json", help="Print JSON, one value a line.")]
SecretName = Annotated[str, typer.Argument(metavar="NAME", help="As configurations write it after `secret:`.")]


def commands(server: Callable[[], AbstractContextManager[Server]]) -> typer.Typer:
    """The commands over a way to reach the live server."""
    made = typer.Typer(
        name="secrets",
        help="Keys of outside services, kept encrypted; no command shows one again.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )

    @made.command("set")
    def set_one(name: SecretName, as_json: Json = False) -> None:  # noqa: FBT002 - typer reads plain parameters
        """Store a secret, in place of one of the same name; asks for it, or reads it from standard input."""
        value = _value(name)
        with server() as live:
            done = live.procedure("set_secret", {"name": name, "value": value})
        said = "is replaced" if done["replaced"] else "is stored"
        _terminal(as_json=as_json).answer(done, [f"The secret {name} {said}; configurations name it secret:{name}."])

    @made.command("list")
    def list_all(as_json: Json = False) -> None:  # noqa: FBT002 - as above
        """Show which secrets are stored, without their values."""
        with server() as live:
            stored = live.operation("list_secrets", {})["stored"]
        lines = [f"{one['name']}  set {one['set_at'][:19]} by {one['set_by']}" for one in stored]
        _terminal(as_json=as_json).answer({"stored": stored}, lines or ["No secrets are stored."])

    @made.command("delete")
    def delete_one(name: SecretName, as_json: Json = False) -> None:  # noqa: FBT002 - as above
        """Forget a secret; what uses it is blocked from its next call on."""
        with server() as live:
            done = live.operation("delete_secret", {"name": name})
        _terminal(as_json=as_json).answer(done, [f"The secret {name} is gone."])

    return made


def _value(name: str) -> str:
    """From a prompt that shows nothing, or from standard input; never from an argument, which others can see."""
    asked = sys.stdin.isatty()
    given = getpass.getpass(f"Value of {name} (not shown): ") if asked else sys.stdin.read(MAX_BYTES + 2)
    value = given.strip()
    if not value or len(value) > MAX_BYTES or "\n" in value:
        raise errors.invalid("secret_invalid", f"A secret is one line of 1 to {MAX_BYTES} characters.")
    return value


def _terminal(*, as_json: bool) -> Terminal:
    return Terminal(as_json=as_json, out=sys.stdout, err=sys.stderr)
