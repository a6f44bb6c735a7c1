"""Keys: what a configuration names, read at the moment of use, so that what is revoked is gone at the next call."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from workstead import errors
from workstead.accounts import secrets
from workstead.accounts.secrets import Safe
from workstead.kernel.transaction import Tx

Source = Literal["env", "secret"]


@dataclass(frozen=True, kw_only=True)
class Keyring:
    """variables: those that configurations may name. glance: reads a few rows now. learn: hides a value everywhere."""

    environ: Mapping[str, str]
    variables: frozenset[str]
    safe: Safe
    glance: Callable[[Callable[[Tx], secrets.Sealed | None]], secrets.Sealed | None]
    learn: Callable[[str], None]

    def read(self, source: Source, name: str) -> str:
        """The key. Raises unavailable `key_missing` with a sentence that says what to do, and what opening raises."""
        if source == "env":
            return self._variable(name)
        sealed = self.glance(lambda tx: secrets.read(tx, name))
        if sealed is None:
            message = f"There is no secret {name!r}; store it with `workstead secrets set {name}`."
            raise errors.unavailable("key_missing", message)
        return self.safe.open(name, sealed)

    def _variable(self, name: str) -> str:
        if name not in self.variables:
            message = f"The variable {name} is not in the setting key_variables, so no configuration may use it."
            raise errors.unavailable("key_missing", message)
        value = self.environ.get(name, "")
        if not value:
            raise errors.unavailable("key_missing", f"The variable {name} was not set when the server started.")
        self.learn(value)
        return value


def known(tx: Tx, safe: Safe) -> list[str]:
    """Open every stored secret, so that none is shown from the start on; the names of those that do not open."""
    broken: list[str] = []
    for one in secrets.listed(tx):
        sealed = secrets.read(tx, one.name)
        try:
            if sealed is not None:
                safe.open(one.name, sealed)
        except errors.Refusal:
            broken.append(one.name)
    return broken
