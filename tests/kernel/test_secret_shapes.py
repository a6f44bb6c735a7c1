"""The known shapes of secrets (K09)."""

import pytest

from workstead.kernel import redaction, secret_shapes

REDACTOR = redaction.Redactor()
LETTERS = "Ab3dEf6hIj9lMn2pQr5tUv8xYz1B4d7F"

# What is hidden, between the text that stays.
HIDDEN: list[tuple[str, str, str, str]] = [
    ("key ", f"sk-{LETTERS}", ".", "openai-key"),
    ("key ", f"sk-proj-{LETTERS}_{LETTERS}", "", "openai-key"),
    ("key ", f"sk-ant-api03-{LETTERS}", " x", "anthropic-key"),
    ("(", f"ghp_{LETTERS}", ")", "github-token"),
    ("", f"github_pat_{LETTERS}_{LETTERS}", "", "github-token"),
    ("copilot ", f"ghu_{LETTERS}", "", "github-token"),
    ("id ", "AKIAIOSFODNN7EXAMPLE", ",", "aws-key"),
    ("slack ", "xoxb-123456789012-abcdefABCDEF", "", "slack-token"),
    ("google ", "ya29.a0AfH6SMBx-abc_DEF", "", "google-key"),
    ("google ", "AIza" + LETTERS + "abc4", "", "google-key"),
    ("refresh ", f"rt_{LETTERS}", "", "generic-token"),
    ("copilot ", "tid=0123456789abcdef0123;exp=1700;sku=free", " end", "generic-token"),
    ("Authorization: Bearer ", "abcDEF123456", "", "bearer"),
    ("curl -H 'authorization: basic ", "dXNlcjpwYXNz", "' x", "authorization"),
    ("jwt ", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0x.SflKxwRJSMeKKF2QT4", "", "jwt"),
    ("db postgres://", "app:pa@ss", "@db.local/x", "userinfo"),
    ("clone https://", LETTERS, "@github.com/a/b", "userinfo"),
    ("GET /x?page=2&sig=", "abcdef0123456789", "&b=1", "query-value"),
    ("GET /x?access_token=", "abc", "#top", "query-value"),
    ("export DB_PASSWORD=", "hunter2", "; run", "secret"),
    ("run --password=", "hunter2", " x", "secret"),
    ("run --api-key ", "hunter2", " x", "secret"),
    ("password: ", "hunter2", "", "secret"),
    ('x = {"clientSecret": "', "a b, c", '", "y": 1}', "secret"),
    ('{\\"token\\": \\"', 'q\\\\n\\\\\\"z', '\\", \\"n\\": 1}', "secret"),
    ("password = '", 'it"s', "'", "secret"),
    ('run "export API_KEY=', "zz", '" now', "secret"),
    ("own ", f"ws_ast_{LETTERS}", "", "workstead-credential"),
    ("own ", f"ws_oat_{LETTERS}", "", "workstead-credential"),
    ("own /l/", f"ws_link_{LETTERS}", "", "workstead-credential"),
    ("own ", f"ws_api_{LETTERS}", "", "workstead-credential"),
    ("own ", f"ws_card_{LETTERS}", "", "workstead-credential"),
    (
        "pem\n",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE+/abc=\nxyz\n-----END RSA PRIVATE KEY-----",
        "\nafter",
        "private-key",
    ),
    (
        '{"pem": "',
        "-----BEGIN PRIVATE KEY-----\\nMIIEabc\\n-----END PRIVATE KEY-----",
        '"}',
        "private-key",
    ),
    ("cut\n", "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "", "private-key"),
]

KEPT = (
    "a task-force of risk-adjusted-return-models and sk-learn-pipelines",
    "token = read_token()",
    "password = os.environ['PASSWORD']",
    "password=$PASSWORD and token=${TOKEN} and secret=<secret>",
    "def sign_in(name: str, password: str, token: bytes) -> None: ...",
    "Password: at least eight characters",
    "The token: a string that names you.",
    "max_tokens=4096 tokens_used: 17 tokens: 12",
    "the bearer of this letter; Bearer authentication is used",
    "git clone ssh://git@example.com/a/b and https://example.com/a@b",
    "see https://example.com/x?page=2&key=short&code=404",
    "the marker `-----BEGIN PUBLIC KEY-----`",
    "eyJ is how a JWT starts",
    "AKIA and AKIAIOSFODNN7EXAMPLEX",
    "ws_ast_ is our prefix",
    'secret = "" or password: null',
    "a cookie: how it is baked",
)


@pytest.mark.covers("K09")
@pytest.mark.parametrize(("before", "secret", "after", "family"), HIDDEN)
def test_a_known_shape_is_hidden_and_what_stands_around_it_stays(
    before: str, secret: str, after: str, family: str
) -> None:
    """Facts of the source, section 7, and our own prefixes (S22)."""
    shown = REDACTOR.text(before + secret + after)
    assert shown.text == f"{before}[redacted:{family}]{after}"
    assert shown.altered
    assert REDACTOR.text(shown.text) == redaction.Redacted(text=shown.text, altered=False)


@pytest.mark.covers("K09")
@pytest.mark.parametrize("text", KEPT)
def test_prose_and_code_that_only_mention_secrets_stay(text: str) -> None:
    """Text that was altered for nothing cannot be trusted or written back (S21)."""
    assert REDACTOR.text(text) == redaction.Redacted(text=text, altered=False)


@pytest.mark.covers("K09")
def test_every_hint_is_lower_case_and_every_family_fits_a_placeholder() -> None:
    """A hint is looked for in folded text; a longer placeholder would not be recognised again."""
    for shape in secret_shapes.SHAPES:
        assert all(hint == hint.lower() for hint in shape.hints)
        assert redaction.PLACEHOLDER.fullmatch(f"[redacted:{shape.family}]")


# Each repeated thousands of times: what would take minutes if tries from every place read the same stretch.
STORMS = (
    "sk-",
    "-sk-a",
    "eyJ-",
    "eyJaaaaaaaaa.",
    "eyJaaaaaaaa.aaaaaaaaa",
    "://",
    "a://b:c",
    "https://a@",
    "token=",
    "token:",
    "token: ",
    'token="',
    "token='\\'",
    'token=\\"',
    "token=a(",
    "a--token",
    "token.",
    "-token-",
    "password",
    "-----BEGIN PRIVATE KEY-----\n",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG",
    "Bearer ",
    "bearer a",
    "authorization: ",
    "cookie: a\n",
    "\ncookie:",
    "'cookie:",
    "&key=",
    "?token=a&",
    "tid=0123456789abcdefg;a=b;",
    "[redacted:",
    "[redacted:secret]",
    "password=[redacted:secret]",
    "--token ",
    "rt_",
    "xoxb-",
    "ws_ast_",
    "\\",
    'password":"',
    'secret\\":\\"',
    " \t",
    "\n",
    "a.",
    "a-",
    "A",
    "_",
)


@pytest.mark.covers("K09", "K15")
@pytest.mark.parametrize("storm", STORMS)
def test_hostile_text_is_projected_at_once(storm: str) -> None:
    """Linear time: a quadratic pattern would not end within a test run."""
    text = storm * (100_000 // len(storm)) + "!"
    shown = REDACTOR.text(text)
    assert shown.altered == (shown.text != text)


@pytest.mark.covers("K09", "K15")
def test_a_megabyte_of_hostile_text_is_projected_at_once() -> None:
    """The size of the largest answer of a page, with every storm in it."""
    text = "".join(storm * (1_000_000 // len(STORMS) // len(storm)) for storm in STORMS)
    assert REDACTOR.text(text).altered
