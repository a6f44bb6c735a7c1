"""Settings are read once, strictly, and a mistake is named by its key alone."""

from pathlib import Path

import pytest

from workstead import settings
from workstead.errors import Kind, Refusal

SECRET = "hunter2-hunter2"


def read(folder: Path, text: str = "", **environ: str) -> settings.Settings:
    """Settings of a data folder with this file and these `WORKSTEAD_*` variables."""
    (folder / settings.FILE_NAME).write_text(text, encoding="utf-8")
    return settings.load({f"WORKSTEAD_{name}": value for name, value in environ.items()}, data_folder=folder)


def refusal(folder: Path, text: str = "", **environ: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        read(folder, text, **environ)
    return caught.value


def test_without_anything_the_defaults_hold(tmp_path: Path) -> None:
    """docs/configuration.md."""
    assert settings.load({}, data_folder=tmp_path) == settings.Settings(
        data_folder=tmp_path,
        host="127.0.0.1",
        port=8777,
        key_file=tmp_path / "instance.key",
        isolation_floor="namespaces",
        key_variables=frozenset(),
        log_level="info",
        log_format="text",
        durability="full",
        database_url=None,
        practice_pace_ms=0,
        assistant_calls_per_minute=1200,
        account_calls_per_minute=3600,
        active_changes=16,
        active_changes_per_account=4,
        address_calls_per_minute=6000,
        failed_requests=200,
        failed_model_requests=0,
    )


def test_the_default_data_folder_is_in_the_home_folder() -> None:
    """docs/configuration.md."""
    folder = settings._data_folder({}, None)
    assert folder == Path.home() / ".local/share/workstead"


def test_the_environment_names_the_data_folder_and_its_file_is_read(tmp_path: Path) -> None:
    """docs/configuration.md."""
    (tmp_path / "workstead.toml").write_text("port = 9000")
    loaded = settings.load({"WORKSTEAD_DATA": str(tmp_path)})
    assert (loaded.data_folder, loaded.port) == (tmp_path, 9000)


def test_a_folder_named_on_the_command_line_goes_before_the_environment(tmp_path: Path) -> None:
    """docs/configuration.md."""
    assert settings.load({"WORKSTEAD_DATA": "/elsewhere"}, data_folder=tmp_path).data_folder == tmp_path


def test_a_relative_data_folder_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon may change its working folder later."""
    monkeypatch.chdir(tmp_path)
    assert settings.load({"WORKSTEAD_DATA": "data"}).data_folder == tmp_path / "data"


def test_every_setting_can_stand_in_the_file(tmp_path: Path) -> None:
    """docs/configuration.md."""
    loaded = read(
        tmp_path,
        """
        host = "::1"
        port = 0
        key_file = "/keys/instance.key"
        isolation_floor = "landlock"
        key_variables = ["OPENAI_API_KEY", "OTHER"]
        log_level = "debug"
        log_format = "json"
        durability = "normal"
        database_url = "postgresql://ada:geheim@db.example/garden"
        practice_pace_ms = 5
        assistant_calls_per_minute = 6
        account_calls_per_minute = 8
        active_changes = 9
        active_changes_per_account = 2
        address_calls_per_minute = 7
        failed_requests = 8
        failed_model_requests = 9
        """,
    )
    assert loaded == settings.Settings(
        data_folder=tmp_path,
        host="::1",
        port=0,
        key_file=Path("/keys/instance.key"),
        isolation_floor="landlock",
        key_variables=frozenset({"OPENAI_API_KEY", "OTHER"}),
        log_level="debug",
        log_format="json",
        durability="normal",
        database_url="postgresql://ada:geheim@db.example/garden",
        practice_pace_ms=5,
        assistant_calls_per_minute=6,
        account_calls_per_minute=8,
        active_changes=9,
        active_changes_per_account=2,
        address_calls_per_minute=7,
        failed_requests=8,
        failed_model_requests=9,
    )


def test_the_environment_goes_before_the_file(tmp_path: Path) -> None:
    """docs/configuration.md."""
    loaded = read(
        tmp_path,
        'port = 9000\nkey_variables = ["ONE"]\nlog_level = "error"',
        PORT="9001",
        KEY_VARIABLES="TWO, THREE",
    )
    assert loaded.port == 9001
    assert loaded.key_variables == {"TWO", "THREE"}
    assert loaded.log_level == "error"


def test_a_relative_key_file_lies_in_the_data_folder(tmp_path: Path) -> None:
    """docs/configuration.md."""
    assert read(tmp_path, KEY_FILE="keys/mine").key_file == tmp_path / "keys/mine"


def test_a_home_folder_is_understood(tmp_path: Path) -> None:
    """docs/configuration.md."""
    assert read(tmp_path, KEY_FILE="~/mine").key_file == Path.home() / "mine"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "::1", "localhost"])
def test_every_loopback_address_is_accepted(tmp_path: Path, host: str) -> None:
    """S1."""
    assert read(tmp_path, HOST=host).host == host


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "8.8.8.8"])
def test_an_address_that_others_can_reach_is_refused_until_sign_in_exists(tmp_path: Path, host: str) -> None:
    """S1: an instance starts single-operator, bound to loopback."""
    no = refusal(tmp_path, HOST=host)
    assert (no.kind, no.code) == (Kind.DENIED, "host_not_loopback")
    assert "sign-in" in no.message
    assert host not in no.message.replace("127.0.0.1", "")


BAD_VALUES = [
    ("host", f'"{SECRET}"'),
    ("host", "1"),
    ("host", '""'),
    ("port", f'"{SECRET}"'),
    ("port", "true"),
    ("port", "-1"),
    ("port", "65536"),
    ("port", "80.0"),
    ("port", '"٣"'),
    ("key_file", '""'),
    ("key_file", "[]"),
    ("key_file", '"a\\u0000b"'),
    ("key_file", '"~nobody-of-this-name/key"'),
    ("key_variables", f'["{SECRET}"]'),
    ("key_variables", "[1]"),
    ("key_variables", "{}"),
    ("isolation_floor", f'"{SECRET}"'),
    ("isolation_floor", "[]"),
    ("log_level", '"loud"'),
    ("log_format", "2026-01-01"),
    ("durability", '"FULL"'),
    ("database_url", f'"mysql://ada:{SECRET}@db/garden"'),
    ("database_url", f'"postgresql://[{SECRET}@db/garden"'),
    ("database_url", "5"),
]


@pytest.mark.parametrize(("key", "value"), BAD_VALUES)
def test_a_bad_value_in_the_file_stops_with_its_key_and_not_the_value(tmp_path: Path, key: str, value: str) -> None:
    """House style, line 44."""
    no = refusal(tmp_path, f"{key} = {value}")
    assert (no.kind, no.code, [issue.path for issue in no.issues]) == (
        Kind.INVALID,
        "settings_invalid",
        [key],
    )
    assert key in no.message
    assert SECRET not in no.message
    assert SECRET not in repr(no)


@pytest.mark.parametrize(
    "name",
    ["HOST", "PORT", "KEY_FILE", "ISOLATION_FLOOR", "KEY_VARIABLES", "LOG_LEVEL", "LOG_FORMAT", "DURABILITY"],
)
def test_a_bad_value_in_the_environment_stops_with_the_variable(tmp_path: Path, name: str) -> None:
    """House style, line 44."""
    no = refusal(tmp_path, **{name: "" if name == "KEY_FILE" else SECRET})
    assert [issue.path for issue in no.issues] == [f"WORKSTEAD_{name}"]
    assert SECRET not in no.message


def test_an_empty_data_folder_is_refused_rather_than_taken_for_the_working_folder() -> None:
    """`WORKSTEAD_DATA=$UNSET` in a script must not scatter files."""
    with pytest.raises(Refusal, match="WORKSTEAD_DATA must be the path"):
        settings.load({"WORKSTEAD_DATA": ""})


def test_every_mistake_is_named_at_once(tmp_path: Path) -> None:
    """A person should not have to start three times to find three mistakes."""
    no = refusal(tmp_path, 'prot = 1\nport = "x"\n', LOG_LEVEL="loud", COLOUR="red")
    assert {issue.path for issue in no.issues} == {"prot", "port", "WORKSTEAD_LOG_LEVEL", "WORKSTEAD_COLOUR"}
    assert all(issue.path in no.message for issue in no.issues)


@pytest.mark.parametrize("key", ["data_folder", "token", "WORKSTEAD_PORT"])
def test_an_unknown_key_in_the_file_stops_the_start(tmp_path: Path, key: str) -> None:
    """House style, line 44; the file cannot move the folder it lies in."""
    no = refusal(tmp_path, f'{key} = "{SECRET}"')
    assert [(issue.path, issue.message) for issue in no.issues] == [(key, "is not a setting")]
    assert SECRET not in no.message


def test_variables_that_are_no_settings_are_left_alone(tmp_path: Path) -> None:
    """S2 and the crash points; other programs' variables are none of ours."""
    environ = {"WORKSTEAD_VAR_REGION": "x", "WORKSTEAD_CRASH_AT": "commit.done", "PATH": "/bin", "PORT": "y"}
    assert settings.load(environ, data_folder=tmp_path).port == 8777


@pytest.mark.parametrize(
    "content",
    [b"port =", b'port = "' + SECRET.encode(), b"\xff\xfe", b"port = 1\nport = 2", b"a = " + b"[" * 5000],
)
def test_a_file_that_is_not_toml_is_named_and_not_quoted(tmp_path: Path, content: bytes) -> None:
    """House style, line 44."""
    (tmp_path / "workstead.toml").write_bytes(content)
    with pytest.raises(Refusal) as caught:
        settings.load({}, data_folder=tmp_path)
    assert caught.value.code == "settings_unreadable"
    assert "workstead.toml is not valid TOML" in caught.value.message
    assert SECRET not in caught.value.message


def test_the_place_of_a_mistake_in_the_file_is_told(tmp_path: Path) -> None:
    """A person must find it."""
    assert "line 2, column 7" in refusal(tmp_path, "port = 1\nhost =\n").message


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """Starting without the operator's settings would be worse than not starting."""
    (tmp_path / "workstead.toml").mkdir()
    with pytest.raises(Refusal, match=r"workstead\.toml cannot be read") as caught:
        settings.load({}, data_folder=tmp_path)
    assert caught.value.code == "settings_unreadable"


def test_settings_cannot_be_changed_after_the_start(tmp_path: Path) -> None:
    """House style, line 44: one frozen value."""
    with pytest.raises(AttributeError):
        read(tmp_path).port = 1  # type: ignore[misc]


def test_the_address_of_the_database_is_in_no_text_of_the_settings(tmp_path: Path) -> None:
    """It holds a password, and settings are easily logged."""
    found = read(tmp_path, DATABASE_URL=f"postgresql://ada:{SECRET}@db.example/garden")
    assert found.database_url == f"postgresql://ada:{SECRET}@db.example/garden"
    assert SECRET not in f"{found} {found!r}"
