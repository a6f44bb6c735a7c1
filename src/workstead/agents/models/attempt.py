"""One attempt: the planned bytes are sent once, the stream is read to its end mark, a failure is given its class."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from workstead.agents.models import failures, sse
from workstead.agents.models.events import Alive, CallPart, CallWhole, Fold, MalformedAnswerError, ModelEvent, Text
from workstead.agents.models.failures import Evidence, FailureClass
from workstead.agents.models.shape import Answer, Listener, Request
from workstead.agents.models.sse import BrokenStreamError
from workstead.agents.models.wire import Wire
from workstead.clock import Clock
from workstead.kernel import canonical
from workstead.kernel.canonical import Json
from workstead.outbound.calls import Head, Limits, Outgoing, Progress
from workstead.outbound.client import Client
from workstead.outbound.failures import FailureKind, OutboundError
from workstead.work.workflow.graph import Candidate, Capabilities, Provider

_ERROR_BYTES = 1 << 20
_STREAM = "text/event-stream"
_KINDS: Mapping[FailureKind, FailureClass] = {
    FailureKind.ADDRESS: FailureClass.ADDRESS,
    FailureKind.CONNECT: FailureClass.TRANSIENT,
    FailureKind.CUT: FailureClass.CUT,
    FailureKind.DEADLINE: FailureClass.TIMEOUT,
    FailureKind.INACTIVITY: FailureClass.TIMEOUT,
    FailureKind.PROTOCOL: FailureClass.MALFORMED,
    FailureKind.TOO_LARGE: FailureClass.MALFORMED,
}


class FailedAttempt(Exception):  # noqa: N818 - what comes of it is for the route to say
    """An attempt without a complete answer. why: a sentence of ours, never the provider's text."""

    def __init__(self, found: FailureClass, why: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(why)
        self.found = found
        self.why = why
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One candidate with how it is asked."""

    provider: Provider
    model: str
    wire: Wire

    @property
    def candidate(self) -> Candidate:
        """Its name in the configuration."""
        return Candidate(provider=self.provider.name, model=self.model)

    @property
    def capabilities(self) -> Capabilities:
        """What its model can take, as far as the configuration says."""
        return self.provider.capabilities.get(self.model, Capabilities())

    @property
    def producer(self) -> str:
        """Who reads its reasoning again: the provider of this name with this key, and where it must be, this model."""
        key = self.provider.key
        name = f"{key.source}:{key.name}" if key is not None else None
        model = self.model if self.wire.by_model else None
        return canonical.digest(["producer", self.provider.kind.value, self.provider.name, name, model])

    @property
    def identity(self) -> tuple[str, ...]:
        """What is really asked, whatever a project calls it."""
        key = self.provider.key
        name = f"{key.source}:{key.name}" if key is not None else ""
        return (self.provider.kind.value, self.provider.base_url or "", name, self.model)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A request serialised once; every attempt sends these bytes. listener: hears each attempt's answer."""

    endpoint: Endpoint
    body: bytes
    digest: str
    listener: Listener | None = None


def plan(endpoint: Endpoint, request: Request) -> Plan:
    """Serialise the request for one candidate; of others' reasoning nothing goes in."""
    base_url = endpoint.provider.base_url or ""
    whole = endpoint.wire.body(_own(request, endpoint.producer), endpoint.model, base_url)
    if endpoint.capabilities.reasoning:
        whole = {**whole, **endpoint.wire.reasoning}
    body = canonical.dump(whole)
    return Plan(endpoint=endpoint, body=body, digest=hashlib.sha256(body).hexdigest(), listener=request.listener)


async def ask(one: Plan, *, client: Client, key: str | None, limits: Limits, clock: Clock) -> Answer:
    """Send once; the complete answer. Raises FailedAttempt."""
    base_url = one.endpoint.provider.base_url or ""
    call = Outgoing(
        url=one.endpoint.wire.url(base_url),
        headers={
            "content-type": "application/json",
            "accept": _STREAM,
            **one.endpoint.wire.headers(key),
        },
        body=one.body,
        local=True,  # a person has accepted this address with the configuration (S2)
        limits=limits,
    )
    receiver = _Receiver(one.endpoint.wire, one.listener)
    try:
        answer = await _answered(client, call, receiver, clock)
    except FailedAttempt:
        if one.listener is not None:
            one.listener.again()
        raise
    made_by = one.endpoint.producer
    return replace(answer, private=tuple(replace(each, producer=made_by) for each in answer.private))


async def _answered(client: Client, call: Outgoing, receiver: "_Receiver", clock: Clock) -> Answer:
    try:
        await client.post(call, receiver)
        return receiver.answer(clock)
    except OutboundError as error:
        raise FailedAttempt(_KINDS[error.kind], error.message) from None
    except (BrokenStreamError, MalformedAnswerError) as error:
        raise FailedAttempt(FailureClass.MALFORMED, str(error)) from None


def _own(request: Request, producer: str) -> Request:
    """The request with the reasoning of this producer only."""
    if not any(message.private for message in request.messages):
        return request
    messages = tuple(
        replace(message, private=tuple(each for each in message.private if each.producer == producer))
        for message in request.messages
    )
    return replace(request, messages=messages)


class _Receiver:
    """Reads an answer as it arrives: a stream of events, or whatever else came instead."""

    def __init__(self, wire: Wire, listener: Listener | None) -> None:
        self._read = wire.reader()
        self._listener = listener
        self._sse = sse.Reader()
        self._fold = Fold()
        self._head = Head(status=0, headers={})
        self._streams = False
        self._body = bytearray()

    def begin(self, head: Head) -> None:
        """See what comes."""
        self._head = head
        kind = head.headers.get("content-type", "").partition(";")[0].strip().lower()
        self._streams = head.status == 200 and kind == _STREAM

    def take(self, chunk: bytes) -> Progress:
        """Fold what the bytes complete."""
        if not self._streams:
            self._body += chunk
            return Progress.ENOUGH if len(self._body) > _ERROR_BYTES else Progress.MEANINGFUL
        progress = Progress.IDLE
        for event in self._sse.feed(chunk):
            if self._add(event):
                progress = Progress.MEANINGFUL
            if self._fold.over:
                return Progress.ENOUGH
        return progress

    def answer(self, clock: Clock) -> Answer:
        """The complete answer. Raises FailedAttempt, MalformedAnswerError, BrokenStreamError."""
        if not self._streams:
            raise self._no_stream(clock)
        if not self._fold.over:
            for event in self._sse.end():
                self._add(event)
        if self._fold.refused:
            raise FailedAttempt(FailureClass.CONTENT, "The provider's content policy ended the answer.")
        if self._fold.error is not None:
            raise self._classified(_object(self._fold.error), clock, opened=True)
        answer = self._fold.answer()
        if answer is None:
            raise FailedAttempt(FailureClass.CUT, "The answer ended without its end mark.")
        return answer

    def _add(self, event: sse.Event) -> bool:
        """Fold one event; whether it meant anything."""
        meant = False
        for each in self._read(event):
            self._fold.add(each)
            if self._listener is not None:
                _tell(self._listener, each)
            meant = meant or not isinstance(each, Alive)
        return meant

    def _no_stream(self, clock: Clock) -> FailedAttempt:
        status = self._head.status
        try:
            body = canonical.parse(bytes(self._body))
        except ValueError:
            body = None
        if status == 200:
            if isinstance(body, dict) and body.get("error") is not None:
                return self._classified(_object(body["error"]), clock, opened=True)
            kind = self._head.headers.get("content-type", "nothing that says what it is").partition(";")[0][:60]
            return FailedAttempt(FailureClass.MALFORMED, f"The provider answered with {kind}, not with a stream.")
        if 300 <= status < 400:
            return FailedAttempt(FailureClass.REJECTED, f"The provider sent the call elsewhere (HTTP {status}).")
        error = body.get("error", body) if isinstance(body, dict) else {}
        return self._classified(_object(error), clock, opened=False)

    def _classified(self, error: Mapping[str, Json], clock: Clock, *, opened: bool) -> FailedAttempt:
        wait_s = failures.retry_after_s(self._head.headers, now=clock.now())
        evidence = Evidence(status=self._head.status, error=error, opened=opened, retry_after_s=wait_s)
        found = failures.classify(evidence)
        return FailedAttempt(found, _sentence(found, self._head.status), retry_after_s=wait_s)


def _tell(listener: Listener, event: ModelEvent) -> None:
    if isinstance(event, Text) and event.text:
        listener.said(event.text)
    elif isinstance(event, CallPart | CallWhole) and event.name:
        listener.writes(event.name)


def _object(error: Json) -> Mapping[str, Json]:
    """The error as an object. One in words only says nothing that counts."""
    return error if isinstance(error, dict) else {}


def _sentence(found: FailureClass, status: int) -> str:
    said = {
        FailureClass.AUTH: "The provider does not take the key",
        FailureClass.CONTENT: "The provider's content policy refused the request",
        FailureClass.CONTEXT: "The request does not fit the model's context window",
        FailureClass.OVERLOAD: "The provider says that it is overloaded",
        FailureClass.PROMPT: "The provider's usage policy refused the prompt",
        FailureClass.PROTOCOL: "The provider's error has no known meaning",
        FailureClass.RATE_LIMIT: "The provider takes no more requests for now",
        FailureClass.REJECTED: "The provider does not take the request",
        FailureClass.TRANSIENT: "The provider failed",
    }
    return f"{said.get(found, 'The attempt failed')} (HTTP {status})."
