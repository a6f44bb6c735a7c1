"""Watching: what every streaming door shares; authority is asked again for each page of rows (K06, K11)."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from workstead import errors
from workstead.accounts import projects
from workstead.agents import conversations
from workstead.agents.partials import Partial, Partials
from workstead.clock import Clock
from workstead.kernel import access, feed, scopes
from workstead.kernel.access import Anonymous, Authority, Caller, Permission, Proof
from workstead.kernel.feed import FeedPage, Wakes
from workstead.kernel.store import Connection, Store
from workstead.kernel.transaction import Tx

POLL_S = 2.0

_READS = frozenset({Permission.PROJECTS_READ})
_LISTENS = frozenset({Permission.PROJECTS_READ, Permission.RUNS_READ})


@dataclass(frozen=True, kw_only=True)
class ServerFacts:
    """What a door says about the server. address: of its pages, as `http://127.0.0.1:8777`."""

    boot_id: str
    pid: int
    version: str
    host: str
    port: int
    started_at: str

    @property
    def address(self) -> str:
        """Where the pages are."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


class Watch:
    """Follows a scope for somebody who may see it, as long as they may."""

    def __init__(self, *, store: Store, wakes: Wakes, authority: Authority, clock: Clock, partials: Partials) -> None:
        self._partials = partials
        self._store = store
        self._wakes = wakes
        self._authority = authority
        self._clock = clock

    def require(self, proof: Proof, permission: Permission, *, what: str) -> Caller:
        """Who asks, if they have the permission in the instance now."""

        def job(connection: Connection) -> Caller:
            tx = Tx(connection, clock=self._clock)
            caller = _known(self._authority(tx, proof, scopes.INSTANCE))
            access.require(caller, frozenset({permission}), operation=what)
            return caller

        return self._store.read_here(job)

    def project_scope(self, proof: Proof, project: str) -> str:
        """The scope of a project that the proof may see now; raises `not_found`, `denied`, `unauthenticated`."""

        def job(connection: Connection) -> str:
            tx = Tx(connection, clock=self._clock)
            scope = projects.scope_of(tx, project)
            caller = _known(self._authority(tx, proof, scope))
            access.require(caller, _READS, operation="follow")
            return projects.visible(tx, caller, project).scope

        return self._store.read_here(job)

    def newest(self, scope: str) -> int:
        """The number of the scope's last row."""
        return self._store.read_here(lambda connection: scopes.last_seq(Tx(connection, clock=self._clock), scope))

    async def project(self, proof: Proof, project: str, *, after: int | None = None) -> AsyncGenerator[FeedPage, None]:
        """Pages of a project's rows from `after` (None: from now on); an empty page is a sign of life.

        Raises the refusal when the reader may not see the project any more; no row of that page was shown.
        """
        scope = self.project_scope(proof, project)
        start = self.newest(scope) if after is None else after
        yield FeedPage(rows=(), cursor={scope: start})
        async for page in feed.follow(self._store, self._wakes, cursor={scope: start}, poll_s=POLL_S):
            self.project_scope(proof, project)
            yield page

    def partials(self, proof: Proof, project: str, *, conversation: str) -> AsyncGenerator[Partial, None]:
        """What is being written in one conversation, `CARD/AGENT`, from now on; authority is asked as for reading it.

        Whoever follows it asks again for each page of rows of the same stream.
        """

        def job(connection: Connection) -> str:
            tx = Tx(connection, clock=self._clock)
            scope = projects.scope_of(tx, project)
            caller = _known(self._authority(tx, proof, scope))
            access.require(caller, _LISTENS, operation="follow")
            return projects.visible(tx, caller, project).scope

        scope = self._store.read_here(job)
        card_id, _, agent = conversation.partition("/")
        return self._partials.follow(scope, conversations.topic(card_id, agent))

    async def instance(self, proof: Proof) -> AsyncGenerator[FeedPage, None]:
        """Pages of the instance's own rows from now on, for whoever is signed in."""
        self.require(proof, Permission.SIGN_IN, what="follow")
        start = self.newest(scopes.INSTANCE)
        yield FeedPage(rows=(), cursor={scopes.INSTANCE: start})
        async for page in feed.follow(self._store, self._wakes, cursor={scopes.INSTANCE: start}, poll_s=POLL_S):
            self.require(proof, Permission.SIGN_IN, what="follow")
            yield page


def _known(caller: Caller) -> Caller:
    if isinstance(caller, Anonymous):
        raise errors.unauthenticated()
    return caller
