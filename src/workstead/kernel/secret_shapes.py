"""The shapes of secrets we know: how each is found in text, and which part of it is hidden.

Every pattern runs in linear time: a look-behind says where it may start, so that two tries never read the
same stretch, and repeats are possessive. Patterns are a defence, not a certificate (K09).
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from workstead.kernel import secret_names

# The words our own credentials start with (S22).
OWN_PREFIXES = ("ws_api_", "ws_ast_", "ws_card_", "ws_in_", "ws_link_", "ws_oat_", "ws_ort_", "ws_play_")

Span = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """One family of secrets.

    family: the word in its placeholder. hints: one of them stands in the lower-case text, or nothing matches.
    part: the span to hide for a match, or nothing when the match is innocent.
    """

    family: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    part: Callable[[re.Match[str]], Span | None]

    def spans(self, text: str) -> Iterator[Span]:
        """The spans to hide in this text, in order, none inside another."""
        done = 0
        for match in self.pattern.finditer(text):
            if match.end() <= done:
                continue
            span = self.part(match)
            if span is not None and done <= span[0] < span[1]:
                done = span[1]
                yield span


def _named_part(match: re.Match[str]) -> Span:
    return match.span("hide")


def _whole(match: re.Match[str]) -> Span:
    return match.span()


def _with_digit(match: re.Match[str]) -> Span | None:
    """Prose has long words after these marks too; a key without any digit is rarer than such prose."""
    start, end = match.span("hide")
    hidden = match.string[start:end]
    return (start, end) if any("0" <= letter <= "9" for letter in hidden) or len(hidden) >= 40 else None


def _userinfo(match: re.Match[str]) -> Span | None:
    start, end = match.span("hide")
    at = match.string.rfind("@", start, end)
    userinfo = match.string[start : max(at, start)]
    plain_user = ":" not in userinfo and not match["scheme"].lower().startswith("http")
    return None if not userinfo or plain_user or userinfo.startswith("[redacted:") else (start, at)


def _query_value(match: re.Match[str]) -> Span | None:
    name = match["name"]
    if not secret_names.secret_in_query(name):
        return None
    start, end = match.span("hide")
    common = not secret_names.secret(name) and end - start < 12
    return None if common or _innocent(match.string, at=start, name=name) else (start, end)


def _flag_value(match: re.Match[str]) -> Span | None:
    name = match["name"]
    start, end = match.span("hide")
    return (start, end) if secret_names.secret(name) and not _innocent(match.string, at=start, name=name) else None


def _assigned(match: re.Match[str]) -> Span | None:
    """The value behind a secret name; searched from here, so that names inside other values are found too."""
    name, text = match["name"], match.string
    # The innocent go first: a bare value read whole and left would be read again for each name inside it.
    if not secret_names.secret(name) or _innocent(text, at=match.end(), name=name):
        return None
    value = _VALUE.match(text, match.end())
    if value is None:
        return None
    if value.lastgroup != "bare":
        hidden = value[value.lastgroup or 0]
        return None if not hidden or _PLACEHOLDER.fullmatch(hidden) else value.span(value.lastgroup or 0)
    start, end = value.span("bare")
    prose = match["sign"] == ":" and match["gap"] and not _alone_or_wild(text, start, end)
    return None if prose else (start, end)


def _alone_or_wild(text: str, start: int, end: int) -> bool:
    """After a colon prose may go on (`Password: at least 8`); a value ends its line or has digits."""
    wild = end - start >= 6 and any("0" <= letter <= "9" for letter in text[start:end])
    return wild or text[end : end + 1] in {"", "\n", "\r"}


def _innocent(text: str, *, at: int, name: str) -> bool:
    """Whether a reference, a call, a type or a count stands here instead of the secret itself."""
    if secret_names.plural(name) and _COUNT.match(text, at):
        return True
    return _PLAIN_WORD.match(text, at) is not None or _REFERENCE.match(text, at) is not None


_COUNT = re.compile(r"[0-9]{1,20}(?![\w.-])")
_PLAIN_WORD = re.compile(
    r"(?i)(?:any|bool|boolean|bytes|empty|false|int|integer|nil|no|none|null|number|object|optional|required|str"
    r"|string|true|undefined|unknown|yes)(?:,|(?![^\s\"'`,;&<>|\\)\]}#]))"
)
_REFERENCE = re.compile(r"\$[A-Za-z_{(]|\{\{|<[A-Za-z]|%[sd(]|\*{3}|\.{3}|[A-Za-z_][A-Za-z0-9_.]{0,80}[(\[]")
_PLACEHOLDER = re.compile(r"\[redacted:[a-z0-9-]{1,32}\]")
# In quotes, in the escaped quotes of JSON inside text, or bare up to a delimiter that no more text follows.
_VALUE = re.compile(
    r"(?P<q>[\"'`])(?P<quoted>(?:\\.|(?!(?P=q))[^\\\n])*+)(?=(?P=q))"
    r"|\\[\"'](?P<escaped>(?:\\\\(?:\\.|[^\\\n])|[^\"'\\\n])*+)(?=\\[\"'])"
    r"|[\"'`]?(?P<bare>(?:(?!\[redacted:)(?:[^\s\"'`,;&<>|\\)\]}#]|[,)\]}](?=\w)))++)"
)


def _shape(
    family: str,
    hints: tuple[str, ...],
    pattern: str,
    *,
    part: Callable[[re.Match[str]], Span | None] = _whole,
) -> Shape:
    return Shape(family=family, hints=hints, pattern=re.compile(pattern), part=part)


OWN = _shape(
    "workstead-credential",
    OWN_PREFIXES,
    rf"(?<![A-Za-z0-9])(?:{'|'.join(OWN_PREFIXES)})[A-Za-z0-9_-]{{16,}}+",
)

# In the order in which they are hidden: the narrow ones first, so that a placeholder says what it was.
SHAPES: tuple[Shape, ...] = (
    OWN,
    _shape(
        "private-key",
        ("private key",),
        r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:[A-Za-z0-9+/=\s\\:,.()]|-(?!----))*+-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
        r"|(?:(?:\s|\\[nr])*+[A-Za-z0-9+/=]{16,}+)*+)",
    ),
    _shape(
        "anthropic-key",
        ("sk-ant-",),
        r"(?<![A-Za-z0-9])(?P<hide>sk-ant-[A-Za-z0-9_-]{16,}+)",
        part=_with_digit,
    ),
    _shape("openai-key", ("sk-",), r"(?<![A-Za-z0-9])(?P<hide>sk-[A-Za-z0-9_-]{16,}+)", part=_with_digit),
    _shape(
        "stripe-key",
        ("k_live_", "k_test_", "whsec_"),
        r"(?:(?:[srp]k)_(?:live|test)|whsec)_[A-Za-z0-9]{10,}+",
    ),
    _shape(
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{16,}+|github_pat_[A-Za-z0-9_]{16,}+)",
    ),
    _shape("gitlab-token", ("glpat-",), r"glpat-[A-Za-z0-9_-]{16,}+"),
    _shape(
        "registry-token",
        ("npm_", "pypi-"),
        r"(?<![A-Za-z0-9])(?:npm_[A-Za-z0-9]{30,}+|pypi-[A-Za-z0-9_-]{50,}+)",
    ),
    _shape("aws-key", ("akia", "asia"), r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _shape(
        "google-key",
        ("aiza", "ya29."),
        r"(?<![A-Za-z0-9])(?:AIza[A-Za-z0-9_-]{35,}+|ya29\.[A-Za-z0-9_-]{10,}+)",
    ),
    _shape("slack-token", ("xox", "xapp-"), r"(?<![A-Za-z0-9])(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}+"),
    _shape("huggingface-token", ("hf_",), r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,}+"),
    _shape(
        "jwt",
        ("eyj",),
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]*+",
    ),
    _shape(
        "generic-token",
        ("rt_", "tok_", "tid="),
        r"(?<![A-Za-z0-9_])(?P<hide>(?:rt_|tok_|tid=)[A-Za-z0-9_-]{16,}+(?:;[a-z0-9]++=[A-Za-z0-9._:-]++)*+)",
        part=_with_digit,
    ),
    _shape(
        "bearer",
        ("bearer",),
        r"(?i)(?<![a-z0-9])bearer[ \t]{1,4}(?P<hide>[a-z0-9._~+/=-]{8,}+)",
        part=_with_digit,
    ),
    _shape(
        "authorization",
        ("authorization",),
        r"(?i)authorization\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}\\{0,3}[\"']?"
        r"(?:basic|digest|token|apikey|negotiate)[ \t]{1,4}(?P<hide>[a-z0-9._~+/=-]{4,}+)",
        part=_named_part,
    ),
    _shape(
        "cookie",
        ("cookie:",),
        r"(?im)(?:^[ \t<>]{0,8}|[\"'])(?:set-)?cookie:[ \t]{0,4}(?P<hide>(?!\[redacted:)[^\r\n\"'\[]++)",
        part=_named_part,
    ),
    _shape(
        "userinfo",
        ("://",),
        r"(?<![A-Za-z0-9+.-])(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*+)://(?P<hide>[^/\s\"'<>?#\\]++)",
        part=_userinfo,
    ),
    _shape(
        "query-value",
        ("=",),
        r"[?&](?P<name>[A-Za-z][A-Za-z0-9_.-]{0,60}+)=(?P<hide>(?!\[redacted:)[^&#\s\"'<>\\`\])]++)",
        part=_query_value,
    ),
    _shape(
        "secret",
        ("--",),
        r"(?<!\S)--(?P<name>[A-Za-z][A-Za-z0-9-]{0,40}+)[ \t]{1,4}(?P<hide>(?!\[redacted:)[^\s\"'`-]"
        r"[^\s\"'`]*+)",
        part=_flag_value,
    ),
    _shape(
        "secret",
        secret_names.HINTS,
        r"(?<!\w)(?<!\w[.-])(?P<name>[A-Za-z_]\w*+(?:[.-]\w++)*+)(?:\\{0,3}[\"'`])?[ \t]{0,4}"
        r"(?P<sign>=>|:=|==?|:(?!//))(?P<gap>[ \t]{0,4})",
        part=_assigned,
    ),
)
