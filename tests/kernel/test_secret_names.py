"""Which names hold secrets (K09)."""

import pytest

from workstead.kernel import secret_names

SECRET = (
    "password PASSWORD userPassword password_hash DB_PASSWORD PGPASSWORD passwd pwd passphrase token "
    "access_token accessToken refresh-token tokens api_tokens secret client_secret clientSecret "
    "CLIENT_SECRET secrets api_key apiKey api-key APIKEY x-api-key X-Api-Key authorization "
    "proxy_authorization cookie Set-Cookie private_key privateKey aws_secret_access_key signing_key "
    "password2 new_password credential db.password jwt code_verifier "
)
PLAIN = (
    "tokens_used token_count tokenCount max_tokens page_token nextPageToken token_type "
    "token_endpoint price_per_token password_min_length secretary public_key key keyboard author "
    "authorized cookie_policy tokenizer passwordless secret_name api_key_id monkey name value title "
    "card_id "
)


@pytest.mark.covers("K09")
@pytest.mark.parametrize("name", SECRET.split())
def test_a_name_whose_last_words_say_secret_holds_one(name: str) -> None:
    """Facts of the source, section 7: secret-named fields."""
    assert secret_names.secret(name)
    assert any(hint in name.lower() for hint in secret_names.HINTS)


@pytest.mark.covers("K09")
@pytest.mark.parametrize("name", PLAIN.split())
def test_a_name_that_only_mentions_a_secret_holds_none(name: str) -> None:
    """Our decision: whole words, so that counts and settings stay readable."""
    assert not secret_names.secret(name)


@pytest.mark.covers("K09")
def test_a_query_also_hides_signatures_and_codes() -> None:
    """A signed address is a credential."""
    for name in ("sig", "signature", "X-Amz-Signature", "code", "key", "access_token"):
        assert secret_names.secret_in_query(name)
    assert not secret_names.secret_in_query("page")
