"""The settings of an instance: one frozen value, read once at start; not a project's configuration."""

import ipaddress
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import urlsplit

from workstead import errors

Isolation = Literal["namespaces", "landlock", "user", "none"]
LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["text", "json"]
Durability = Literal["full", "normal"]

FILE_NAME = "workstead.toml"
PREFIX = "WORKSTEAD_"
DATA_VARIABLE = "WORKSTEAD_DATA"
DEFAULT_DATA_FOLDER = "~/.local/share/workstead"

# Variables of ours that are no settings: values for project configurations (S2), what assistants' programs are told,
# and crash points for tests.
OTHER_VARIABLES = ("WORKSTEAD_CRASH_AT", "WORKSTEAD_TOKEN", "WORKSTEAD_URL")
OTHER_PREFIXES = ("WORKSTEAD_VAR_",)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the operator decided before the start."""

    data_folder: Path
    """Where database, blobs, lock and control socket live; absolute."""
    host: str
    """The address the server listens on; loopback only, until sign-in is set up (S1)."""
    port: int
    """The port it listens on; 0 takes any free one."""
    key_file: Path
    """The instance's key, which opens stored secrets; absolute."""
    isolation_floor: Isolation
    """The weakest isolation that commands may fall to (S1)."""
    key_variables: frozenset[str]
    """Environment variables that a configuration may name as `env:NAME` (S2)."""
    log_level: LogLevel
    """The least severe level that is logged."""
    log_format: LogFormat
    """How a log line is written."""
    durability: Durability
    """`full`: every commit reaches the disk; `normal`: a power cut may lose the last commits."""
    practice_pace_ms: int
    """How long practice waits before each answer."""
    assistant_calls_per_minute: int
    """How many calls one assistant has each minute."""
    account_calls_per_minute: int
    """How many calls all assistants of one account have together each minute."""
    active_changes: int
    """How many changes and commands of programs may be under way at once."""
    active_changes_per_account: int
    """How many of them may be one account's."""
    address_calls_per_minute: int
    """How many requests the MCP door takes from one address each minute."""
    failed_requests: int
    """How many of the requests that failed last are remembered, without what was in them; 0 remembers none."""
    failed_model_requests: int
    """How many requests to models that failed are kept, with their text, in the data folder; 0 keeps none."""
    database_url: str | None = field(repr=False)
    """The address of a PostgreSQL database, with its password; None is the file in the data folder. Never shown."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One line of the table of settings: its key in the file and how a value is read.

    parse: from text (the environment) or a TOML value to the setting's value; its `ValueError` says what
    would be right and never repeats what was given.
    """

    key: str
    default: object
    parse: Callable[[object], object]

    @property
    def variable(self) -> str:
        """The environment variable that goes before the file."""
        return PREFIX + self.key.upper()


def load(environ: Mapping[str, str], *, data_folder: Path | None = None) -> Settings:
    """The settings from the environment, then `workstead.toml` in the data folder, then the defaults.

    data_folder: named on the command line, goes before `WORKSTEAD_DATA`.
    Raises *invalid* naming every wrong key, never a value, and *denied* for an address that is not loopback.
    """
    folder = _data_folder(environ, data_folder)
    file = _read_file(folder / FILE_NAME)
    issues = _unknown(environ, file)
    values: dict[str, object] = {}
    for setting in SETTINGS:
        place, given = _given(setting, environ, file)
        try:
            values[setting.key] = setting.parse(given)
        except ValueError as wrong:
            issues.append(errors.Issue(path=place, message=str(wrong)))
    if issues:
        listed = "; ".join(f"{issue.path} {issue.message}" for issue in issues)
        raise errors.invalid("settings_invalid", f"The settings cannot be used: {listed}.", issues=issues)
    return _built(folder, values)


def _data_folder(environ: Mapping[str, str], named: Path | None) -> Path:
    if named is not None:
        return named.expanduser().absolute()
    try:
        return _path(environ.get(DATA_VARIABLE, DEFAULT_DATA_FOLDER)).absolute()
    except ValueError as wrong:
        issue = errors.Issue(path=DATA_VARIABLE, message=str(wrong))
        message = f"The settings cannot be used: {issue.path} {issue.message}."
        raise errors.invalid("settings_invalid", message, issues=[issue]) from None


def _read_file(path: Path) -> dict[str, object]:
    try:
        with path.open("rb") as stream:
            return tomllib.load(stream)
    except FileNotFoundError:
        return {}
    except OSError as failed:
        message = f"{path} cannot be read: {failed.strerror}."
        raise errors.invalid("settings_unreadable", message) from None
    except (ValueError, RecursionError) as wrong:
        # The parser's sentence may quote the text; only its position is safe to show.
        found = re.search(r"\(at line (\d+), column (\d+)\)", str(wrong))
        place = f" (line {found[1]}, column {found[2]})" if found else ""
        raise errors.invalid("settings_unreadable", f"{path} is not valid TOML{place}.") from None


def _unknown(environ: Mapping[str, str], file: Mapping[str, object]) -> list[errors.Issue]:
    variables = {setting.variable for setting in SETTINGS} | {DATA_VARIABLE, *OTHER_VARIABLES}
    strange = [
        name
        for name in sorted(environ)
        if name.startswith(PREFIX) and name not in variables and not name.startswith(OTHER_PREFIXES)
    ]
    strange += [key for key in sorted(file) if key not in {setting.key for setting in SETTINGS}]
    return [errors.Issue(path=name, message="is not a setting") for name in strange]


def _given(setting: Setting, environ: Mapping[str, str], file: Mapping[str, object]) -> tuple[str, object]:
    if setting.variable in environ:
        return setting.variable, environ[setting.variable]
    return setting.key, file.get(setting.key, setting.default)


def _built(folder: Path, values: Mapping[str, object]) -> Settings:
    host = str(values["host"])
    if not _is_loopback(host):
        raise errors.denied(
            "host_not_loopback",
            "The host setting names an address that other machines can reach. That is refused until sign-in "
            "is set up; use a loopback address such as 127.0.0.1.",
        )
    fields = {**values, "data_folder": folder, "key_file": folder / str(values["key_file"])}
    # The table makes exactly the fields; the checker cannot see that, the tests do.
    return Settings(**fields)  # type: ignore[arg-type]


def _is_loopback(host: str) -> bool:
    return host == "localhost" or ipaddress.ip_address(host).is_loopback


def _path(given: object) -> Path:
    if not isinstance(given, str) or not given or "\0" in given:
        raise ValueError("must be the path of a file or folder")
    try:
        return Path(given).expanduser()
    except RuntimeError:
        raise ValueError("names a home folder that cannot be found") from None


def _host(given: object) -> str:
    wrong = "must be `localhost` or an IP address"
    if not isinstance(given, str):
        raise ValueError(wrong)  # noqa: TRY004 - one kind of mistake for the caller: a value that will not do
    if given != "localhost":
        try:
            ipaddress.ip_address(given)
        except ValueError:
            raise ValueError(wrong) from None
    return given


def _database_url(given: object) -> str | None:
    if given is None:
        return None
    # What is wrong with an address is never told in detail: it holds a password.
    wrong = "must be an address as `postgresql://NAME:PASSWORD@HOST/DATABASE`"
    if not isinstance(given, str) or "\0" in given:
        raise ValueError(wrong)
    try:
        scheme = urlsplit(given).scheme
    except ValueError:
        raise ValueError(wrong) from None
    if scheme not in {"postgresql", "postgres"}:
        raise ValueError(wrong)
    return given


def _number(least: int, most: int, what: str) -> Callable[[object], int]:
    def parse(given: object) -> int:
        if isinstance(given, str) and re.fullmatch(r"[0-9]{1,6}", given):
            given = int(given)
        if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
            raise ValueError(f"must be {what} from {least} to {most}")
        return given

    return parse


def _names(given: object) -> frozenset[str]:
    if isinstance(given, str):
        given = [name.strip() for name in given.split(",") if name.strip()]
    if not isinstance(given, list) or not all(_is_variable(name) for name in given):
        raise ValueError("must be names of environment variables (in the environment: with commas between)")
    return frozenset(given)


def _is_variable(name: object) -> bool:
    return isinstance(name, str) and re.fullmatch(r"[A-Z_][A-Z0-9_]{0,127}", name) is not None


def _one_of(choices: tuple[str, ...]) -> Callable[[object], str]:
    def parse(given: object) -> str:
        if not isinstance(given, str) or given not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return given

    return parse


SETTINGS = (
    Setting(key="host", default="127.0.0.1", parse=_host),
    Setting(key="port", default=8777, parse=_number(0, 65535, "a port (0: any free one)")),
    Setting(key="key_file", default="instance.key", parse=_path),
    Setting(key="isolation_floor", default="namespaces", parse=_one_of(get_args(Isolation))),
    Setting(key="key_variables", default=[], parse=_names),
    Setting(key="log_level", default="info", parse=_one_of(get_args(LogLevel))),
    Setting(key="log_format", default="text", parse=_one_of(get_args(LogFormat))),
    Setting(key="durability", default="full", parse=_one_of(get_args(Durability))),
    Setting(key="database_url", default=None, parse=_database_url),
    Setting(key="practice_pace_ms", default=0, parse=_number(0, 60_000, "milliseconds")),
    Setting(key="assistant_calls_per_minute", default=1_200, parse=_number(1, 600_000, "calls")),
    Setting(key="account_calls_per_minute", default=3_600, parse=_number(1, 600_000, "calls")),
    Setting(key="active_changes", default=16, parse=_number(1, 1_000, "changes")),
    Setting(key="active_changes_per_account", default=4, parse=_number(1, 1_000, "changes")),
    Setting(key="address_calls_per_minute", default=6_000, parse=_number(1, 600_000, "requests")),
    Setting(key="failed_requests", default=200, parse=_number(0, 1_000, "requests")),
    Setting(key="failed_model_requests", default=0, parse=_number(0, 1_000, "requests")),
)
