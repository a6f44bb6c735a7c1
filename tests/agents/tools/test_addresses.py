"""Addresses: what each spelling names."""

import pytest

from workstead import errors
from workstead.agents.tools import addresses
from workstead.agents.tools.addresses import FileAddress, Place, RecordAddress


@pytest.mark.covers("W17")
@pytest.mark.parametrize(
    ("address", "place", "path"),
    [
        ("a/b", Place.PROJECT, "a/b"),
        ("", Place.PROJECT, ""),
        ("a b?c#d%20", Place.PROJECT, "a b?c#d%20"),
        ("c:x", Place.PROJECT, "c:x"),
        ("project:///", Place.PROJECT, ""),
        ("project:///a%20b", Place.PROJECT, "a b"),
        ("work:///cards/x", Place.WORK, ".workstead/work/cards/x"),
        ("tmp:///n", Place.TMP, ".workstead/work/cards/card-a/tmp/n"),
    ],
)
def test_a_file_address_names_a_place_in_the_folder(address: str, place: Place, path: str) -> None:
    """Facts 6.6; in a plain path every sign is part of the name."""
    found = addresses.read(address, card_id="card-a")
    assert isinstance(found, FileAddress)
    assert (found.place, found.path) == (place, path)


@pytest.mark.covers("W17")
def test_a_record_address_names_card_name_and_version() -> None:
    """Facts 6.6."""
    found = addresses.read("record:///status.md?card=card-b&v=12", card_id="card-a")
    assert found == RecordAddress(card_id="card-b", name="status.md", version=12)
    own = addresses.read("record:///status.md", card_id="card-a")
    assert own == RecordAddress(card_id="card-a", name="status.md", version=None)


@pytest.mark.covers("W17", "K19")
@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("/a", "path_outside"),
        ("project:////etc", "path_outside"),
        ("tmp:///../x", "path_outside"),
        ("tmp:///%2e%2e/x", "path_outside"),
        ("work:///a/%2E%2E/%2E%2E/x", "path_outside"),
        ("project:///a%00", "path_invalid"),
        ("project:///%ff", "address_malformed"),
        ("project:///%zz", "address_malformed"),
        ("project:///a?b", "address_malformed"),
        ("project://a", "address_malformed"),
        ("system:///etc", "address_unknown"),
        ("https://example.org", "address_unknown"),
        ("PROJECT:///a", "address_unknown"),
        ("record:///status.md?card=a&v=0", "address_malformed"),
        ("record:///status.md?card=a&x=1", "address_malformed"),
    ],
)
def test_what_is_no_address_is_refused_with_a_reason(address: str, code: str) -> None:
    """Facts 6.6: no fragment, no extra parameters, no other numbers; S1: no way out."""
    with pytest.raises(errors.Refusal) as refused:
        addresses.read(address, card_id="card-a")
    assert refused.value.code == code
