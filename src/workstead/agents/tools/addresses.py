"""Addresses of files and records as agents write them; what each may be used for. Pure."""

import re
import urllib.parse
from dataclasses import dataclass
from enum import StrEnum

from workstead import errors
from workstead.workspace import files, folders

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_RECORD = re.compile(r"record:///([^/?#&]+)(?:\?card=([^/?#&=]+)(?:&v=([1-9][0-9]{0,8}))?)?")
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class Place(StrEnum):
    """Which part of the folder a file address names."""

    PROJECT = "project"
    TMP = "tmp"
    WORK = "work"


@dataclass(frozen=True, kw_only=True)
class FileAddress:
    """A file or folder. path: relative to the project's folder. shown: its canonical address."""

    place: Place
    path: str
    shown: str

    @property
    def own(self) -> bool:
        """Whether it lies in the part that only Workstead writes, so that it is written through `write_own`."""
        return self.place is Place.TMP


@dataclass(frozen=True, kw_only=True)
class RecordAddress:
    """A record of a card; version: one accepted text, read-only; None: what is current."""

    card_id: str
    name: str
    version: int | None


def read(address: str, *, card_id: str) -> FileAddress | RecordAddress:
    """What an address names for an agent on this card; a record without `?card=` is that card's own.

    Raises `invalid` for what is none, for absolute paths and for schemes that agents do not have.
    """
    scheme = _SCHEME.match(address)
    if scheme is None:
        return _file(Place.PROJECT, address, base="", prefix="")
    match scheme[1]:
        case "project":
            return _file(Place.PROJECT, _rest(address, "project"), base="", prefix="")
        case "work":
            return _file(Place.WORK, _rest(address, "work"), base=folders.WORK, prefix="work:///")
        case "tmp":
            return _file(Place.TMP, _rest(address, "tmp"), base=tmp_folder(card_id), prefix="tmp:///")
        case "record":
            return _record(address, card_id=card_id)
        case other:
            message = (
                f"{other}:// cannot be used: agents stay in the project's folder. "
                "Write a relative path, project:///, record:///, work:/// or tmp:///."
            )
            raise errors.invalid("address_unknown", message)


def tmp_folder(card_id: str) -> str:
    """The folder behind a card's `tmp:///`, relative to the project's."""
    return f"{folders.WORK}/cards/{card_id}/{Place.TMP.value}"


def read_file(address: str, *, card_id: str) -> FileAddress:
    """As `read`, for tools that work on files only."""
    found = read(address, card_id=card_id)
    if isinstance(found, RecordAddress):
        raise errors.invalid("address_not_file", "A record is not a file; use read, write or edit with its address.")
    return found


def require_writable(address: FileAddress) -> None:
    """Raises `denied` for what no agent may write: `work:///` and everything under `.workstead/` but its own tmp."""
    if address.place is Place.WORK:
        raise errors.denied("path_protected", "work:/// can only be read; write to tmp:/// or into the project.")
    parts = files.components(address.path)
    if address.place is Place.PROJECT and parts and parts[0].casefold() == files.OWN:
        message = f"Nothing under {files.OWN}/ can be written; use tmp:/// for scratch files."
        raise errors.denied("path_protected", message)
    empty_tmp = address.shown == "tmp:///"
    if not parts or empty_tmp:
        raise errors.invalid("path_not_file", "This names a folder; name a file in it.")


def _rest(address: str, scheme: str) -> str:
    prefix = f"{scheme}:///"
    if not address.startswith(prefix):
        raise errors.invalid("address_malformed", f"Write {prefix} with three slashes and then a path.")
    rest = address.removeprefix(prefix)
    if "?" in rest or "#" in rest or _ESCAPE.search(rest):
        message = f"A {prefix} address has no query and no fragment; write ? as %3F, # as %23, % as %25."
        raise errors.invalid("address_malformed", message)
    try:
        return urllib.parse.unquote(rest, errors="strict")
    except UnicodeDecodeError:
        raise errors.invalid("address_malformed", "The escapes of the address are not UTF-8.") from None


def _file(place: Place, path: str, *, base: str, prefix: str) -> FileAddress:
    # Checked before it is joined, so that nothing absolute hides behind a prefix.
    relative = "/".join(files.components(path))
    joined = f"{base}/{relative}".strip("/") if base else relative
    return FileAddress(place=place, path=joined, shown=f"{prefix}{relative}")


def _record(address: str, *, card_id: str) -> RecordAddress:
    found = _RECORD.fullmatch(address)
    if found is None:
        message = "Write a record's address as record:///status.md?card=<card id>, with &v=N for an accepted version."
        raise errors.invalid("address_malformed", message)
    name, named, version = found.groups()
    return RecordAddress(card_id=named or card_id, name=name, version=int(version) if version is not None else None)
