"""What can go wrong on the way out and back: one error with a named kind, whatever the library calls it."""

from enum import StrEnum


class FailureKind(StrEnum):
    """Where a call ended before its answer was complete."""

    ADDRESS = "address"  # refused, or not to be found
    CONNECT = "connect"  # nobody answered there
    CUT = "cut"  # the connection ended in the middle
    DEADLINE = "deadline"  # the whole call took too long
    INACTIVITY = "inactivity"  # bytes, or anything meaningful, stayed away too long
    PROTOCOL = "protocol"  # what came back is not HTTP that we accept
    TOO_LARGE = "too_large"  # more came back than is read


class OutboundError(Exception):
    """A call without a complete answer. message: a sentence without any secret. sent: whether it may have arrived."""

    def __init__(self, kind: FailureKind, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.sent = sent
