"""Unfinished text: how much of what is still being written may be shown before the rest is known. Pure.

A secret split over two pieces must not leave in its first half. What ends at a space is whole; three things go on
behind one: a secret of this instance, a private key, and a value in quotes on the line of a secret's name.
"""

import re
from collections.abc import Sequence

from workstead.kernel import secret_names, secret_shapes

_BEGIN = "-----BEGIN "
_END = re.compile(r"-----END [^\n-]*-----")
_FIRST_WIDE = "\u2e80"  # from here on letters are written without spaces between words
_JOINTS = frozenset("=:/@-_\"'`")
_ASSIGNED = secret_shapes.SHAPES[-1].pattern


def settled_end(text: str, *, secrets: Sequence[str]) -> int:
    """How many characters no later text can make part of a secret. secrets: exact values that are hidden."""
    end = _word_end(text)
    begun = text.rfind(_BEGIN)
    if begun >= 0 and not _END.search(text[:end], begun):
        end = min(end, begun)
    line = text.rfind("\n") + 1
    for match in _ASSIGNED.finditer(text, line):
        if secret_names.secret(match["name"]):
            end = min(end, match.start())
            break
    return _before_secret(text[:end], secrets)


def _word_end(text: str) -> int:
    """Behind the last space, or the last letter of a script without spaces in a word without joints."""
    end = len(text)
    while end and not text[end - 1].isspace():
        end -= 1
    if not _JOINTS.isdisjoint(text[end:]):
        return end
    wide = max((place for place in range(end, len(text)) if text[place] >= _FIRST_WIDE), default=end - 1)
    return wide + 1


def _before_secret(text: str, secrets: Sequence[str]) -> int:
    """Where the beginning of an exact secret stands at the end of the text."""
    begins = len(text)
    for secret in secrets:
        tail = max(0, len(text) - len(secret) + 1)
        place = text.find(secret[0], tail)
        while 0 <= place < begins:
            if secret.startswith(text[place:]):
                begins = place
            place = text.find(secret[0], place + 1)
    return begins
