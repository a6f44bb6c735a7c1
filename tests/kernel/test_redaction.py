"""The one projection of what leaves (K09, S21, S22)."""

import base64
import json
import string
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workstead.kernel import redaction
from workstead.kernel.canonical import Json
from workstead.kernel.redaction import Redacted, Redactor

REDACTOR = Redactor(("correct horse/battery", b"\x00\xff\x10 key bytes"))

SECRET_LETTERS = string.ascii_letters + string.digits
bodies = st.text(SECRET_LETTERS, min_size=32, max_size=48).map(lambda body: f"{body}7")
shaped = st.builds(
    str.__add__,
    st.sampled_from(["sk-", "ghp_", "github_pat_", "xoxb-", "ya29.", "ws_ast_", "ws_card_", "rt_"]),
    bodies,
)
prose = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
harmless = st.text("abc dé\n.,😀()", max_size=80)


@pytest.mark.covers("K09")
@given(before=prose, secret=shaped, after=prose)
def test_no_secret_survives_in_any_surrounding_text(before: str, secret: str, after: str) -> None:
    """A secret that stands apart from other words is never shown, whatever is around it."""
    shown = REDACTOR.text(f"{before} {secret} {after}")
    assert shown.altered
    assert secret not in shown.text
    assert secret[-20:] not in shown.text


@pytest.mark.covers("K09")
@given(before=prose, secret=st.text(min_size=8, max_size=30), after=prose)
def test_exact_secrets_never_survive_even_inside_words(before: str, secret: str, after: str) -> None:
    """The instance's own secrets are hidden wherever they stand, in every kind of channel."""
    redactor = Redactor((secret,))
    if secret in "[redacted:instance-secret]":
        return
    for shown in (redactor.text(before + secret + after), redactor.exact(before + secret + after)):
        assert secret not in shown.text.replace("[redacted:instance-secret]", "\0")
        assert shown.altered


@pytest.mark.covers("K09")
@given(st.lists(st.one_of(prose, shaped, st.sampled_from(["password=", "token: ", '"', "://", "@", "?sig="]))))
def test_redacting_again_changes_nothing(parts: list[str]) -> None:
    """What was shown once may pass another door."""
    shown = REDACTOR.text("".join(parts)).text
    assert REDACTOR.text(shown) == Redacted(text=shown, altered=False)


@pytest.mark.covers("K09")
@given(harmless)
def test_text_without_secrets_is_unchanged_and_not_flagged(text: str) -> None:
    """An altered read may not be written back (S21), so the flag must be true."""
    assert REDACTOR.text(text) == Redacted(text=text, altered=False)
    assert REDACTOR.exact(text) == Redacted(text=text, altered=False)


@pytest.mark.covers("K09")
@pytest.mark.parametrize(
    "form",
    [
        "correct horse/battery",
        urllib.parse.quote("correct horse/battery", safe=""),
        urllib.parse.quote_plus("correct horse/battery"),
        base64.b64encode(b"correct horse/battery").decode().rstrip("="),
        b"\x00\xff\x10 key bytes".hex(),
        base64.b64encode(b"\x00\xff\x10 key bytes").decode().rstrip("="),
    ],
)
def test_an_exact_secret_is_hidden_in_the_forms_it_travels_in(form: str) -> None:
    """A secret in a URL or a header looks different."""
    assert REDACTOR.exact(f"a{form}b").text == "a[redacted:instance-secret]b"


@pytest.mark.covers("K09")
def test_an_agents_own_read_hides_only_what_is_ours() -> None:
    """Code that says `token = "x"` must be readable and editable (S21)."""
    code = 'token = "sk-abcdefghijklmnopqrstuvwxyz0123456789"\npassword = "hunter2"\n'
    assert REDACTOR.exact(code) == Redacted(text=code, altered=False)
    ours = f"{code} correct horse/battery ws_ast_0123456789abcdefghijkl"
    assert REDACTOR.exact(ours) == Redacted(
        text=f"{code} [redacted:instance-secret] [redacted:workstead-credential]", altered=True
    )


@pytest.mark.covers("K09")
def test_values_too_short_to_be_secrets_hide_nothing() -> None:
    """An empty or tiny secret would hide ordinary text."""
    assert Redactor(("", "abc", b"x")).text("abcabcabc").text == "abcabcabc"


@pytest.mark.covers("K09")
def test_a_tree_hides_secret_fields_and_shapes_and_keeps_its_structure() -> None:
    """Secret-named fields of every spelling; lists keep their length (facts of the source, section 7)."""
    value: Json = {
        "name": "demo",
        "apiKey": "short",
        "tokens_used": 12,
        "tokens": 40,
        "token": 7,
        "password": None,
        "has": {"password": True, "secret": ""},
        "cookies": ["a", "b"],
        "credentials": {"user": "u", "extra": [1, {"deep": "v"}]},
        "note": "use sk-abcdefghijklmnop0123456789",
        "nested": [{"clientSecret": "x y"}],
    }
    hidden = "[redacted:secret]"
    shown = REDACTOR.tree(value)
    assert shown.altered
    assert shown.value == {
        "name": "demo",
        "apiKey": hidden,
        "tokens_used": 12,
        "tokens": 40,
        "token": hidden,
        "password": None,
        "has": {"password": True, "secret": ""},
        "cookies": [hidden, hidden],
        "credentials": {"user": hidden, "extra": [hidden, {"deep": hidden}]},
        "note": "use [redacted:openai-key]",
        "nested": [{"clientSecret": hidden}],
    }
    assert REDACTOR.tree(shown.value) == redaction.RedactedTree(value=shown.value, altered=False)


@pytest.mark.covers("K09")
def test_a_schema_that_describes_a_secret_field_stays_readable() -> None:
    """A tool's schema must say what `password` is; only a default in it is a value."""
    schema: Json = {"properties": {"password": {"type": "string", "description": "yours", "default": "hunter2"}}}
    shown = REDACTOR.tree(schema)
    assert shown.value == {
        "properties": {"password": {"type": "string", "description": "yours", "default": "[redacted:secret]"}}
    }


@pytest.mark.covers("K09")
def test_keys_are_texts_too_and_none_is_lost() -> None:
    """Two hidden keys must not become one."""
    shown = REDACTOR.tree({"sk-abcdefghijklmnop0123456789": 1, "sk-abcdefghijklmnop0123456780": 2})
    assert shown.value == {"[redacted:openai-key]": 1, "[redacted:openai-key]#2": 2}


@pytest.mark.covers("K09")
def test_an_untouched_tree_is_the_same_value() -> None:
    """Most answers hold no secret; they are not copied."""
    value: Json = {"cards": [{"title": "a"}]}
    assert REDACTOR.tree(value).value is value


@pytest.mark.covers("K09")
def test_an_exact_secret_with_quotes_is_hidden_in_json_text() -> None:
    """The same secret inside JSON text is written with escapes."""
    secret = 'pa"ss\\wo"rd'
    redactor = Redactor((secret,))
    assert redactor.text(json.dumps({"a": secret})).text == '{"a": "[redacted:instance-secret]"}'
    assert redactor.tree({"a": secret}).value == {"a": "[redacted:instance-secret]"}


@pytest.mark.covers("K09", "K10")
@given(st.lists(st.one_of(prose, shaped.map(lambda secret: f" {secret} "))), st.integers(0, 200))
def test_a_cut_never_splits_a_character_a_placeholder_or_a_secret(parts: list[str], limit_bytes: int) -> None:
    """Half a placeholder would be recognised by nobody after the cut."""
    text = "".join(parts)
    shown = REDACTOR.text(text).text
    end = REDACTOR.certified_end(shown, limit_bytes)
    assert len(shown[:end].encode()) <= limit_bytes
    for match in redaction.PLACEHOLDER.finditer(shown):
        assert not match.start() < end < match.end()


@pytest.mark.covers("K09", "K10")
@given(before=harmless, secret=shaped, after=prose, limit_bytes=st.integers(0, 200))
def test_a_cut_of_raw_text_never_splits_a_secret(before: str, secret: str, after: str, limit_bytes: int) -> None:
    """Half a secret would be recognised by nobody after the cut."""
    start = len(before) + 1
    end = REDACTOR.certified_end(f"{before} {secret} {after}", limit_bytes)
    assert not start < end < start + len(secret)


@pytest.mark.covers("K09", "K10")
def test_a_cut_moves_to_the_start_of_what_it_would_split() -> None:
    """Facts of the source, section 7."""
    secret = "sk-abcdefghijklmnop0123456789"
    assert REDACTOR.certified_end(f"abc {secret}", 20) == 4
    assert REDACTOR.certified_end("abc [redacted:openai-key] x", 20) == 4
    assert REDACTOR.certified_end("aé€😀", 9) == 3
    assert REDACTOR.certified_end("short", 100) == 5
    assert REDACTOR.certified_end("short", 0) == 0


@pytest.mark.covers("K09")
def test_our_placeholders_are_recognised_in_what_is_written_back() -> None:
    """A write that holds one is refused (S21)."""
    assert redaction.contains_placeholder("x [redacted:jwt] y")
    assert not redaction.contains_placeholder("x [redacted] y")


@pytest.mark.covers("K09")
def test_a_tree_with_half_a_surrogate_pair_is_still_projected() -> None:
    """File names of other encodings reach the logs so."""
    assert REDACTOR.tree({"path": "a\udcff", "password": "x"}).value == {
        "path": "a\udcff",
        "password": "[redacted:secret]",
    }


@pytest.mark.covers("K09")
def test_a_secret_that_is_learned_later_is_hidden_from_then_on_beside_the_others() -> None:
    """Keys are stored and replaced while the server runs; one that was replaced stays hidden."""
    redactor = Redactor(["first-secret-value"])
    text = "first-secret-value second-secret-value short"
    assert "second-secret-value" in redactor.exact(text).text
    redactor.learn("second-secret-value")
    redactor.learn("short")
    hidden = "[redacted:instance-secret] [redacted:instance-secret] short"
    assert redactor.exact(text).text == hidden
    assert redactor.tree({"said": text}).value == {"said": hidden}


@pytest.mark.covers("K09")
def test_a_short_text_that_was_shown_is_hidden_once_it_is_learned() -> None:
    """What is remembered of short texts ends when a secret is learned."""
    redactor, secret = Redactor(), "only-now-a-secret"
    assert redactor.text(secret) == redactor.text(secret) == Redacted(text=secret, altered=False)
    redactor.learn(secret)
    assert redactor.text(secret) == redactor.text(secret) == Redacted(text="[redacted:instance-secret]", altered=True)
