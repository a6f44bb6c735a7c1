"""Sending: one POST at a time through the HTTP library; loaded by the client at its first call."""

import ssl
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

import anyio
import httpcore2
import httpx2

from workstead.outbound import addresses
from workstead.outbound.calls import Head, Limits, Outgoing, Progress, Receiver
from workstead.outbound.failures import FailureKind, OutboundError

_CONNECTIONS = 64
_KEPT = 16
_KEPT_S = 30.0
_SEE_OUT_S = 0.05
_SEE_OUT_CHUNKS = 16


class Sender:
    """The library's client and its kept connections."""

    def __init__(self) -> None:
        self._made: httpx2.AsyncClient | None = None

    async def post(self, call: Outgoing, receiver: Receiver) -> None:
        """Send once and hand the answer on until the receiver has enough or the body ends.

        Raises OutboundError; then the answer is not complete and the call was not repeated.
        """
        addresses.check_url(call.url, local=call.local)
        limits = call.limits
        with _named(limits):
            deadline = anyio.current_time() + limits.deadline_s
            try:
                with anyio.fail_after(limits.deadline_s):
                    await self._exchange(call, receiver, deadline=deadline)
            except TimeoutError:
                message = f"The call was not finished within {limits.deadline_s:g} s."
                raise OutboundError(FailureKind.DEADLINE, message) from None

    async def aclose(self) -> None:
        """End every kept connection."""
        made, self._made = self._made, None
        if made is not None:
            await made.aclose()

    async def _exchange(self, call: Outgoing, receiver: Receiver, *, deadline: float) -> None:
        request = self._client().build_request(
            "POST", call.url, content=call.body, headers=_headers(call.headers), timeout=_timeout(call.limits)
        )
        answer = await self._client().send(request, stream=True, follow_redirects=False)
        try:
            coding = answer.headers.get("content-encoding", "identity")
            if coding != "identity":
                raise OutboundError(FailureKind.PROTOCOL, "The answer is compressed, which was not asked for.")
            receiver.begin(Head(status=answer.status_code, headers=_lowered(answer.headers.multi_items())))
            await _hand_on(answer.aiter_raw(), receiver, limits=call.limits, deadline=deadline)
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(1):
                await answer.aclose()

    def _client(self) -> httpx2.AsyncClient:
        """Made at the first call and kept: its TLS context costs as much as many calls."""
        if self._made is None:
            self._made = httpx2.AsyncClient(transport=_PinnedTransport(), follow_redirects=False, trust_env=False)
            self._made.headers.clear()
        return self._made


class _PinnedBackend(httpcore2.AnyIOBackend):
    """Connects to what an allowed name leads to now; there is no second look-up between the check and the use."""

    async def connect_tcp(  # noqa: PLR0917 - the library's signature
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - as above
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Try the addresses in order."""
        failed: httpcore2.ConnectError | httpcore2.ConnectTimeout | None = None
        for number in await addresses.resolve(host, port):
            try:
                return await super().connect_tcp(number, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failed = error
        raise failed or httpcore2.ConnectError(f"{host} has no address")


class _PinnedTransport(httpx2.AsyncHTTPTransport):
    """The library's transport over connections that are pinned; it has no parameter for that."""

    def __init__(self) -> None:
        context = _tls()
        super().__init__(verify=context, trust_env=False)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context,
            max_connections=_CONNECTIONS,
            max_keepalive_connections=_KEPT,
            keepalive_expiry=_KEPT_S,
            retries=0,
            network_backend=_PinnedBackend(),
        )


def _tls() -> ssl.SSLContext:
    context = httpx2.create_ssl_context(trust_env=True)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


async def _hand_on(chunks: AsyncIterator[bytes], receiver: Receiver, *, limits: Limits, deadline: float) -> None:
    size = 0
    silent_at = anyio.current_time() + limits.silence_s
    while True:
        try:
            with anyio.fail_after(max(0.0, min(silent_at, deadline) - anyio.current_time())):
                chunk = await anext(chunks, None)
        except TimeoutError:
            if anyio.current_time() >= deadline:
                raise
            message = f"Nothing meaningful arrived for {limits.silence_s:g} s."
            raise OutboundError(FailureKind.INACTIVITY, message) from None
        if chunk is None:
            return
        size += len(chunk)
        if size > limits.answer_bytes:
            raise OutboundError(FailureKind.TOO_LARGE, f"The answer is larger than {limits.answer_bytes} bytes.")
        progress = receiver.take(chunk)
        if progress is Progress.ENOUGH:
            await _see_out(chunks)
            return
        if progress is Progress.MEANINGFUL:
            silent_at = anyio.current_time() + limits.silence_s


async def _see_out(chunks: AsyncIterator[bytes]) -> None:
    """Wait a moment for the end that usually comes at once, so that the connection is kept. It can change nothing."""
    with anyio.move_on_after(_SEE_OUT_S), suppress(httpx2.HTTPError, httpx2.StreamError):
        for _ in range(_SEE_OUT_CHUNKS):
            if await anext(chunks, None) is None:
                return


@contextmanager
def _named(limits: Limits) -> Iterator[None]:
    """Translate the library's errors, once, here."""
    try:
        yield
    except (httpx2.ConnectTimeout, httpx2.PoolTimeout):
        message = f"No connection was made within {limits.connect_s:g} s."
        raise OutboundError(FailureKind.CONNECT, message, sent=False) from None
    except httpx2.ConnectError:
        raise OutboundError(FailureKind.CONNECT, "No connection could be made.", sent=False) from None
    except (httpx2.ReadTimeout, httpx2.WriteTimeout):
        message = f"Not a byte arrived for {limits.inactivity_s:g} s."
        raise OutboundError(FailureKind.INACTIVITY, message) from None
    except (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError, httpx2.CloseError):
        raise OutboundError(FailureKind.CUT, "The connection ended before the answer was complete.") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError):
        raise OutboundError(FailureKind.PROTOCOL, "What came back is not an answer that can be read.") from None


def _headers(given: Mapping[str, str]) -> dict[str, str]:
    return {"accept-encoding": "identity", "user-agent": "workstead", **given}


def _lowered(items: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {name.lower(): value for name, value in items}


def _timeout(limits: Limits) -> httpx2.Timeout:
    each = limits.inactivity_s
    return httpx2.Timeout(connect=min(limits.connect_s, each), read=each, write=each, pool=limits.connect_s)
