"""Tx: one open transaction with its time, its change id and what is announced after the commit."""

from workstead.clock import Clock, iso
from workstead.kernel.store import Connection, Prepared, Row, Value


class Tx:
    """What every function below the write path takes; none of them commits.

    at: the transaction's one moment as stored text. change_id: names the change in every row it writes.
    wakes: the scopes whose followers are woken after the commit. gathered: what the operation read from outside the
    database before the transaction began. known: what was looked up and cannot change before the end.
    """

    def __init__(self, connection: Connection, *, clock: Clock, gathered: object = None) -> None:
        self._connection = connection
        self._clock = clock
        self._at: str | None = None
        self._change_id: str | None = None
        self.wakes: set[str] = set()
        self.gathered = gathered
        self.known: dict[tuple[str, str], object] = {}

    @property
    def at(self) -> str:
        """The moment of this transaction, read once."""
        if self._at is None:
            self._at = iso(self._clock.now())
        return self._at

    @property
    def change_id(self) -> str:
        """The id of this change, made once."""
        if self._change_id is None:
            self._change_id = self._clock.new_id()
        return self._change_id

    def new_id(self) -> str:
        """A fresh id for a row."""
        return self._clock.new_id()

    def run(self, statement: Prepared, /, **parameters: Value) -> int:
        """Execute, and return how many rows were changed."""
        return self._connection.run(statement, **parameters)

    def one(self, statement: Prepared, /, **parameters: Value) -> Row | None:
        """The first row, or None."""
        return self._connection.one(statement, **parameters)

    def all(self, statement: Prepared, /, **parameters: Value) -> list[Row]:
        """Every row."""
        return self._connection.all(statement, **parameters)
