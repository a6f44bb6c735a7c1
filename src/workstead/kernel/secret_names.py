"""Which names of fields, variables and query values hold secrets; whole words only.

A name is split into its words (`clientSecret`, `CLIENT_SECRET` and `client-secret` are the same two) and its
last words decide: `access_token` holds a secret, `token_count`, `tokens_used` and `token_endpoint` do not.
"""

import re

# What `suspect` looks for in lower-case text: each secret name contains one of them.
HINTS = (
    "auth",
    "cookie",
    "credential",
    "jwt",
    "key",
    "otp",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "pwd",
    "secret",
    "signature",
    "token",
    "verifier",
)

_LAST_WORDS = frozenset(
    {
        "accesskey",
        "accesstoken",
        "apikey",
        "apisecret",
        "apitoken",
        "authorization",
        "authtoken",
        "clientsecret",
        "cookie",
        "cookies",
        "credential",
        "credentials",
        "jwt",
        "otp",
        "passcode",
        "passphrase",
        "privatekey",
        "pwd",
        "refreshtoken",
        "secret",
        "secretkey",
        "secrets",
        "token",
        "tokens",
        "totp",
    }
)
_LAST_PAIRS = frozenset(
    {
        ("access", "key"),
        ("account", "key"),
        ("api", "key"),
        ("api", "keys"),
        ("code", "verifier"),
        ("encryption", "key"),
        ("master", "key"),
        ("private", "key"),
        ("private", "keys"),
        ("secret", "key"),
        ("session", "key"),
        ("shared", "key"),
        ("signing", "key"),
        ("ssh", "key"),
    }
)
_WORD_ENDINGS = ("password", "passwords", "passwd")
# What may follow without making the name about something else: `password_hash`, `token2`, `secret_value`.
_TRAILING = frozenset({"again", "b64", "base64", "confirm", "confirmation", "encrypted", "hash", "raw", "value"})
# `page_token` turns pages, `price_per_token` is a price, `max_tokens` is a number.
_HARMLESS_BEFORE = frozenset({"cancellation", "continuation", "max", "min", "next", "page", "per", "previous", "sync"})
_QUERY_ONLY = frozenset({"auth", "code", "key", "sig", "signature"})

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def secret(name: str) -> bool:
    """Whether a field or variable of this name holds a secret."""
    words = [word.lower() for word in _WORD.findall(name)]
    while words and (words[-1].isdigit() or words[-1] in _TRAILING):
        words.pop()
    if not words:
        return False
    last = words[-1]
    if len(words) > 1 and words[-2] in _HARMLESS_BEFORE and last in {"token", "tokens"}:
        return False
    return last in _LAST_WORDS or last.endswith(_WORD_ENDINGS) or tuple(words[-2:]) in _LAST_PAIRS


def secret_in_query(name: str) -> bool:
    """Whether a URL's query value of this name holds a secret: also signatures, codes and bare keys."""
    return secret(name) or name.lower().removeprefix("x-amz-") in _QUERY_ONLY


def plural(name: str) -> bool:
    """Whether the name may as well be a count (`tokens`), so that a number under it says nothing."""
    return name.lower().endswith("tokens")
