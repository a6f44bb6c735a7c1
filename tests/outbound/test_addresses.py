"""Which addresses are reached from here, and which never."""

import ipaddress

import pytest

from workstead.outbound import addresses
from workstead.outbound.failures import FailureKind, OutboundError

pytestmark = pytest.mark.covers("K19")
LOCAL = [
    "http://127.0.0.1:8000/v1",
    "http://localhost:11434",
    "http://[::1]/v1",
    "https://192.168.1.5",
    "http://10.0.0.1",
]


@pytest.mark.parametrize("url", LOCAL)
def test_a_local_address_is_called_only_where_it_was_named_for_that(url: str) -> None:
    """Local model servers are a feature; everybody else stays out of the machine's network."""
    addresses.check_url(url, local=True)
    with pytest.raises(OutboundError, match="not reached from here"):
        addresses.check_url(url, local=False)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org",
        "file:///etc/passwd",
        "https://",
        "https://user:hunter2@example.org",
        "http://example.org/v1",
        "http://8.8.8.8/v1",
        "https://example.org:99999",
        "https://[::1",
        "https://example.org/" + "x" * 2048,
    ],
)
def test_what_cannot_be_called_safely_is_refused(url: str) -> None:
    """Only http and https, no user in it, and nothing unencrypted over the open internet."""
    with pytest.raises(OutboundError) as refused:
        addresses.check_url(url, local=True)
    assert (refused.value.kind, refused.value.sent) == (FailureKind.ADDRESS, False)
    assert "hunter2" not in refused.value.message


def test_a_public_address_is_called() -> None:
    """The ordinary case."""
    addresses.check_url("https://example.org/v1", local=False)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("127.0.0.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::", False),
        ("fe80::1", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:8.8.8.8", True),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::808:808", True),
        ("2002:7f00:1::", False),
    ],
)
def test_an_address_is_public_or_not_whatever_form_it_is_written_in(address: str, *, public: bool) -> None:
    """Mapped and translated forms hide the address that is really reached."""
    assert addresses.is_public(ipaddress.ip_address(address)) is public


@pytest.mark.parametrize(
    ("host", "numbers", "allowed"),
    [
        ("example.org", ["8.8.8.8"], True),
        ("example.org", ["8.8.8.8", "127.0.0.1"], False),
        ("example.org", ["169.254.169.254"], False),
        ("example.org", [], False),
        ("localhost", ["::1", "127.0.0.1"], True),
        ("localhost", ["8.8.8.8"], False),
    ],
)
def test_everything_a_name_leads_to_is_looked_at(host: str, numbers: list[str], *, allowed: bool) -> None:
    """A name must not lead into the private network, not even among others; `localhost` must be this machine."""
    if allowed:
        assert addresses.pinned(host, numbers) == tuple(numbers)
        return
    with pytest.raises(OutboundError):
        addresses.pinned(host, numbers)


async def test_an_address_that_is_a_number_is_not_looked_up() -> None:
    """What is literal is pinned already."""
    assert await addresses.resolve("127.0.0.1", 80) == ("127.0.0.1",)


@pytest.mark.parametrize("name", ["127.1", "0x7f000001", "2130706433"])
async def test_a_number_in_disguise_is_a_name_that_leads_home(name: str) -> None:
    """The system's own look-up takes these for the loopback address."""
    with pytest.raises(OutboundError):
        await addresses.resolve(name, 80)
