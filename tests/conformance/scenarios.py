"""What of the public suite does not apply to this door, and why; everything else has to pass."""

ERAS = ("2025-11-25", "2026-07-28")

_NO_QUESTIONS = (
    "no operation asks its client for anything: what needs a person answers `wait for a person` and "
    "stays on the pages, where a decision has an author"
)
_NO_LOG = "the server's log belongs to its operator; what happened is evidence, read with `list_evidence`"
_NO_SESSION = "nothing is kept between requests, so there is no subscription to keep; `get_run` and the feed are asked"

NOT_APPLICABLE: dict[str, str] = {
    "elicitation-sep1034-defaults": _NO_QUESTIONS,
    "elicitation-sep1330-enums": _NO_QUESTIONS,
    "http-custom-header-server-validation": (
        "no tool has a parameter that travels in a header (`x-mcp-header`): "
        "arguments may hold what a proxy must not log"
    ),
    "input-required-result-basic-elicitation": _NO_QUESTIONS,
    "input-required-result-basic-list-roots": _NO_QUESTIONS,
    "input-required-result-basic-sampling": _NO_QUESTIONS,
    "input-required-result-capability-check": _NO_QUESTIONS,
    "input-required-result-multi-round": _NO_QUESTIONS,
    "input-required-result-multiple-input-requests": _NO_QUESTIONS,
    "input-required-result-non-tool-request": _NO_QUESTIONS,
    "input-required-result-request-state": _NO_QUESTIONS,
    "input-required-result-result-type": _NO_QUESTIONS,
    "input-required-result-tampered-state": _NO_QUESTIONS,
    "json-schema-2020-12": (
        "needs a tool whose schema has `allOf`, `anyOf`, `if` and `$anchor` at its root; ours are plain objects "
        "made from their models, because clients drop tools with such roots"
    ),
    "logging-set-level": _NO_LOG,
    "resources-subscribe": _NO_SESSION,
    "resources-unsubscribe": _NO_SESSION,
    "server-stateless": (
        "every check that can be made passes; two need a tool (`test_missing_capability`) that relies on a "
        "capability of its client, and ours rely on none"
    ),
    "tools-call-elicitation": _NO_QUESTIONS,
    "tools-call-sampling": _NO_QUESTIONS,
    "tools-call-with-logging": _NO_LOG,
}
"""Scenario -> why it fails here and is meant to."""

EXTENSIONS = "tasks-*, sep-2640-*"
"""Extensions of the protocol, which the suite leaves out when a revision is named and this door does not have."""
