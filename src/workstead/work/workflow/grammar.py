"""What names in a configuration look like."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """A grammar with the words that explain it: "`x` is no `what`; it must be `rule`"."""

    what: str
    rule: str
    regex: re.Pattern[str]

    def fits(self, text: str) -> bool:
        """Whether the whole text follows it."""
        return self.regex.fullmatch(text) is not None


def _identifier(what: str) -> Pattern:
    rule = "a lowercase letter, then up to 63 lowercase letters, digits or `-`"
    return Pattern(what=what, rule=rule, regex=re.compile(r"[a-z][a-z0-9-]{0,63}"))


AGENT = _identifier("agent name")
CARD_TYPE = _identifier("card type")
CASE = _identifier("case id")
NODE = _identifier("node name")
PROFILE = _identifier("profile name")
PROMPT = _identifier("prompt reference")
PROVIDER = _identifier("provider name")
ROUTE = _identifier("route name")
SERVER = _identifier("server name")

CURRENCY = Pattern(what="currency", rule="three capital letters, as in `USD`", regex=re.compile(r"[A-Z]{3}"))
ENV_NAME = Pattern(
    what="name of an environment variable",
    rule="capital letters, digits and `_`, not starting with a digit",
    regex=re.compile(r"[A-Z_][A-Z0-9_]{0,127}"),
)
KEY = Pattern(
    what="name of a key",
    rule="`secret:NAME` or `env:NAME`; the key itself never stands in this file",
    regex=re.compile(r"secret:[a-z][a-z0-9_-]{0,63}|env:[A-Z_][A-Z0-9_]{0,127}"),
)
MODEL = Pattern(
    what="model id",
    rule="up to 128 letters, digits and `-._:/@`, without spaces",
    regex=re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}"),
)
OUTCOME = Pattern(
    what="outcome",
    rule="a lowercase letter, then up to 63 lowercase letters, digits, `_` or `-`",
    regex=re.compile(r"[a-z][a-z0-9_-]{0,63}"),
)
RECORD = Pattern(
    what="record name",
    rule="a lowercase stem of letters, digits and `-` that ends in `.md`, as in `status.md`",
    regex=re.compile(r"[a-z][a-z0-9-]{0,59}\.md"),
)
RECORD_WRITER = Pattern(
    what="pattern of record names",
    rule="a record name in which one `*` may stand in the stem, as in `review-*.md`",
    regex=re.compile(r"(?=.{4,64}$)(?!.*\*.*\*)[a-z*][a-z0-9*-]*\.md"),
)
RELATIVE_PATH = Pattern(
    what="path inside the project folder",
    rule="relative, with `/` between its parts and no `.` or `..` part",
    regex=re.compile(r"(?!\.{1,2}(?:/|$))(?!.*/\.{0,2}(?:/|$))[^/\\\x00-\x1f][^\\\x00-\x1f]{0,1023}"),
)
SCHEMA = Pattern(
    what="record schema",
    rule="a name and its version, as in `work-status.v1`",
    regex=re.compile(r"[a-z][a-z0-9-]{0,63}\.v[1-9][0-9]{0,5}"),
)
TOOL = Pattern(
    what="tool name",
    rule="a lowercase letter, then up to 63 lowercase letters, digits or `_`",
    regex=re.compile(r"[a-z][a-z0-9_]{0,63}"),
)
URL = Pattern(
    what="web address",
    rule="an absolute http or https address without user, query or fragment",
    regex=re.compile(r"https?://[A-Za-z0-9.\[\]:-]+(?:/[A-Za-z0-9._~/-]*)?"),
)
