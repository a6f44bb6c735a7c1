"""How much of a text that is still being written may be shown (K09)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workstead.kernel import unfinished
from workstead.kernel.redaction import Redactor

KEY = "sk-ant-" + "a1b2c3d4" * 5
SECRETS = ("correct horse battery", "s3cr3t-value-9")
REDACTOR = Redactor(SECRETS)
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\nabcd==\n-----END RSA PRIVATE KEY-----"
words = st.sampled_from(["Plan", "the", "garden", "déjà", "種", ".", "\n", " ", "=", ": "])


@pytest.mark.covers("K09")
@given(before=st.lists(words, max_size=6), hidden=st.sampled_from([KEY, *SECRETS]), after=st.lists(words, max_size=6))
def test_no_beginning_of_a_secret_is_shown_at_any_moment(before: list[str], hidden: str, after: list[str]) -> None:
    """A secret split over two pieces must not leave in its first half."""
    start = " ".join(before)
    whole = f"{start} {hidden} {' '.join(after)}"
    for end in range(len(whole) + 1):
        shown = REDACTOR.unfinished(whole[:end]).text
        assert hidden[:12] not in shown
        assert not (len(start) + 1 < end <= len(start) + len(hidden) and shown.endswith(hidden[: end - len(start) - 1]))


@pytest.mark.covers("K09")
@pytest.mark.parametrize(
    ("text", "leak"),
    [
        (f"Here:\n{PEM}\nThat is all.", "abcd"),
        ('Use password = "two words 77" now.\nAnd go on.', "two words"),
        ("db at postgres://gardener:hunter22@db.example/x now", "hunter"),
        ("Authorization: Bearer abcdef0123456789abcdef now", "abcdef01"),
    ],
)
def test_what_goes_on_behind_a_space_is_held_back(text: str, leak: str) -> None:
    """A key's lines, a value in quotes, a word in an address."""
    for end in range(len(text) + 1):
        assert leak not in REDACTOR.unfinished(text[:end]).text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("Two ste", "Two "),
        ("Two steps ", "Two steps "),
        ("計画を立", "計画を立"),
        ("It is correct", "It is "),
        ("It is correct ho", "It is "),
        ("It is correct how", "It is "),
        ("It is correct how ", "It is correct how "),
    ],
)
def test_whole_words_are_shown_at_once(text: str, shown: str) -> None:
    """A watcher reads along word by word; only a word that may become a secret waits."""
    assert text[: unfinished.settled_end(text, secrets=SECRETS)] == shown
