"""Addresses: which ones may be reached. Decided on what a name leads to at the moment of the connection."""

import ipaddress
import socket
from collections.abc import Sequence
from urllib.parse import urlsplit

import anyio

from workstead.outbound.failures import FailureKind, OutboundError

LOCALHOST = "localhost"

_MAX_URL_CHARS = 2048

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def check_url(url: str, *, local: bool) -> None:
    """Refuse what cannot be called: not http(s), with a user in it, or a local address where none is allowed.

    local: whether an address of this machine or a private network may be called when the URL names it literally.
    Raises OutboundError (address).
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise _refused("The address is not a valid URL.") from None
    if parts.scheme not in {"http", "https"} or not host or len(url) > _MAX_URL_CHARS:
        raise _refused("The address must be an http or https URL of reasonable length.")
    if parts.username is not None or parts.password is not None:
        raise _refused("The address must not hold a user or password.")
    given = literal(host)
    if (host == LOCALHOST or (given is not None and not is_public(given))) and not local:
        raise _refused(f"{host} is an address of this machine or a private network; it is not reached from here.")
    if parts.scheme == "http" and not is_local_host(host):
        raise _refused(f"{host} would be asked without encryption; use https.")


def literal(host: str) -> Address | None:
    """The address that a host is, None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_local_host(host: str) -> bool:
    """Whether a host names this machine or a private network literally."""
    given = literal(host)
    return host == LOCALHOST or (given is not None and not is_public(given))


def is_public(address: Address) -> bool:
    """Whether an address is one of the open internet, whatever form it is written in."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is not None:
            return is_public(inner)
        if address in _NAT64:
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return address.is_global and not address.is_multicast


async def resolve(host: str, port: int) -> tuple[str, ...]:
    """The addresses to connect to, in order. A name must lead to public addresses only; all of them are looked at.

    Raises OutboundError (address).
    """
    given = literal(host)
    if given is not None:
        return (str(given),)
    try:
        found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        raise OutboundError(FailureKind.CONNECT, f"The name {host} was not found.", sent=False) from None
    numbers = tuple(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found))
    return pinned(host, numbers)


def pinned(host: str, numbers: Sequence[str]) -> tuple[str, ...]:
    """What a name led to, when all of it may be reached; `localhost` must be this machine."""
    addresses = [ipaddress.ip_address(number) for number in numbers]
    wrong = [each for each in addresses if not (each.is_loopback if host == LOCALHOST else is_public(each))]
    if wrong or not addresses:
        raise _refused(f"The name {host} leads to an address that is not reached from here.")
    return tuple(numbers)


def _refused(message: str) -> OutboundError:
    return OutboundError(FailureKind.ADDRESS, message, sent=False)


_NAT64 = ipaddress.ip_network("64:ff9b::/96")
