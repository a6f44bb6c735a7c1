"""Configurations as they are kept: exact sources by digest, what a person trusts, and the compiled form again (S2)."""

import base64
import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from sqlalchemy import bindparam, insert, select, update

from workstead import errors
from workstead.accounts.projects import Project
from workstead.kernel import canonical, feed
from workstead.kernel.canonical import Json
from workstead.kernel.store import prepared
from workstead.kernel.transaction import Tx
from workstead.work import configuration as compiler
from workstead.work.configuration import Compiled, Sources
from workstead.work.tables import configuration, configuration_trust
from workstead.work.workflow.graph import Configuration
from workstead.workspace import files

VARIABLE_PREFIX = "WORKSTEAD_VAR_"

_FILE_LIMIT_BYTES = 1_048_576
_CACHED = 32
_CACHE: dict[str, Configuration] = {}

_KEEP = prepared(insert(configuration))
_SOURCES = prepared(select(configuration.c.sources).where(configuration.c.digest == bindparam("k_digest")))
_THERE = prepared(select(configuration.c.digest).where(configuration.c.digest == bindparam("k_digest")))
_TRUST_KEY = (
    configuration_trust.c.project_id == bindparam("k_project_id"),
    configuration_trust.c.digest == bindparam("k_digest"),
)
_TRUST = prepared(insert(configuration_trust))
_TRUST_AGAIN = prepared(
    update(configuration_trust).where(*_TRUST_KEY).values(person=bindparam("person"), at=bindparam("at"))
)
_TRUSTED = prepared(select(configuration_trust.c.digest).where(*_TRUST_KEY))
_NEWEST = prepared(
    select(configuration_trust.c.digest)
    .where(configuration_trust.c.project_id == bindparam("k_project_id"))
    .order_by(configuration_trust.c.at.desc(), configuration_trust.c.digest)
    .limit(bindparam("k_limit"))
    .offset(bindparam("k_offset"))
)


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """What stands in a folder now: the sources and what they compile to, or why they do not."""

    sources: Sources
    digest: str
    compiled: Compiled | None
    refusal: errors.Refusal | None

    def require(self) -> Compiled:
        """The compiled form; raises `configuration_invalid` with every mistake."""
        if self.compiled is None:
            raise self.refusal or LookupError("neither compiled nor refused")
        return self.compiled


def gather(folder: Path) -> Gathered:
    """Read and compile `<folder>/.workstead/`; a mistake in it is in the answer, not raised.

    Raises not found when the folder or its `workstead.yaml` is not there.
    """
    with files.Folder(folder) as opened:

        def read(path: str) -> bytes | None:
            try:
                return opened.read(f"{files.OWN}/{path}", limit_bytes=_FILE_LIMIT_BYTES)
            except errors.Refusal as refusal:
                if refusal.kind is not errors.Kind.NOT_FOUND:
                    raise
                return None

        if read(compiler.FILE) is None:
            raise _no_configuration(folder)
        sources = compiler.gather(read, dict(_variables()))
    compiled, refusal = _try_compile(sources)
    return Gathered(sources=sources, digest=compiler.digest_of(sources), compiled=compiled, refusal=refusal)


def keep(tx: Tx, sources: Sources) -> str:
    """Store the exact sources once; returns their digest."""
    digest = compiler.digest_of(sources)
    if tx.one(_THERE, k_digest=digest) is None:
        body: dict[str, Json] = {
            "yaml": base64.b64encode(sources.yaml).decode(),
            "prompts": dict(sources.prompts),
        }
        tx.run(_KEEP, digest=digest, sources=canonical.text(body), at=tx.at)
    return digest


def load(tx: Tx, digest: str) -> Configuration:
    """The configuration with a digest, compiled again from its stored sources. Raises not found.

    Compiled once per process: neither the sources of a digest nor the server's environment ever change.
    """
    found = _CACHE.get(digest)
    if found is None:
        found = compiler.compile_sources(stored(tx, digest), _variables()).configuration
        while len(_CACHE) >= _CACHED:
            _CACHE.pop(next(iter(_CACHE)), None)
        _CACHE[digest] = found
    return found


def forget() -> None:
    """Drop what this process has compiled; the next load reads the stored sources again."""
    _CACHE.clear()


def stored(tx: Tx, digest: str) -> Sources:
    """The exact sources that were kept. Raises not found."""
    row = tx.one(_SOURCES, k_digest=digest)
    if row is None:
        raise errors.not_found("configuration", digest)
    body = cast("dict[str, Json]", canonical.parse(cast("str", row[0])))
    return Sources(yaml=base64.b64decode(cast("str", body["yaml"])), prompts=cast("dict[str, str]", body["prompts"]))


def trust(tx: Tx, project: Project, digest: str, *, person: str) -> None:
    """Note that a person accepted what the configuration asks for; the newest acceptance counts."""
    again = tx.run(_TRUST_AGAIN, k_project_id=project.id, k_digest=digest, person=person, at=tx.at)
    if not again:
        tx.run(_TRUST, project_id=project.id, digest=digest, person=person, at=tx.at)
    feed.add(tx, project.scope, feed.Event.CONFIGURATION_TRUSTED, topic="configuration")


def trusted(tx: Tx, project_id: str, digest: str) -> bool:
    """Whether somebody accepted exactly this configuration for the project."""
    return tx.one(_TRUSTED, k_project_id=project_id, k_digest=digest) is not None


def newest_trusted(tx: Tx, project_id: str) -> str | None:
    """The digest that was accepted last, or None."""
    row = tx.one(_NEWEST, k_project_id=project_id, k_limit=1, k_offset=0)
    return cast("str", row[0]) if row is not None else None


def load_trusted(tx: Tx, project: Project) -> Configuration:
    """The configuration that was accepted last: what people's changes follow while no run has one pinned.

    Raises conflict `configuration_untrusted`.
    """
    digest = newest_trusted(tx, project.id)
    if digest is None:
        message = f"Nobody has accepted the configuration of {project.slug} yet; look at it and trust it first."
        raise errors.conflict("configuration_untrusted", message, project=project.id)
    return load(tx, digest)


@functools.cache
def _variables() -> Mapping[str, str]:
    # Read once: walking the environment took a sixth of a card's edit.
    return {name: value for name, value in os.environ.items() if name.startswith(VARIABLE_PREFIX)}


def _try_compile(sources: Sources) -> tuple[Compiled | None, errors.Refusal | None]:
    try:
        return compiler.compile_sources(sources, _variables()), None
    except errors.Refusal as refusal:
        return None, refusal


def _no_configuration(folder: Path) -> errors.Refusal:
    return errors.Refusal(
        kind=errors.Kind.NOT_FOUND,
        code="configuration_not_found",
        message=f"{folder} has no {files.OWN}/{compiler.FILE}; run `workstead init` in it first.",
    )
