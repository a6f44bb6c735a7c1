"""The log: one line style, text or JSON, with secrets hidden (K18)."""

import io
import json
import logging

import pytest
import structlog

from workstead import logs
from workstead.kernel.redaction import Redactor

pytestmark = pytest.mark.covers("K18")

SECRET = "ws_in_" + "x" * 43


def written(*, style: str, level: str = "info") -> io.StringIO:
    """A configured log that writes here."""
    stream = io.StringIO()
    logs.configure(level=level, style=style, redactor=Redactor(), stream=stream)
    return stream


@pytest.mark.parametrize("style", ["text", "json"])
def test_secrets_are_hidden_in_sentence_fact_and_trace(style: str) -> None:
    """Every line goes through the one redaction."""
    stream = written(style=style)
    log = structlog.get_logger()
    try:
        int(SECRET)
    except ValueError:
        log.exception(f"failed with {SECRET}", cookie=SECRET)
    assert SECRET not in stream.getvalue()
    assert "ValueError" in stream.getvalue()
    assert "[redacted:" in stream.getvalue()


def test_a_text_line_is_time_level_sentence_and_facts() -> None:
    """Readable in a terminal."""
    stream = written(style="text")
    structlog.get_logger().info("serving", port=8777, address="here")
    at, rest = stream.getvalue().split(" ", 1)
    assert at.endswith("Z")
    assert rest == "info serving address=here port=8777\n"


def test_what_libraries_warn_of_is_logged_in_the_same_style() -> None:
    """One style through one writer; their chatter below a warning is left out."""
    stream = written(style="json")
    logging.getLogger("uvicorn.error").info("chatter")
    logging.getLogger("uvicorn.error").warning("careful with %s", SECRET)
    (line,) = stream.getvalue().splitlines()
    assert (json.loads(line)["level"], json.loads(line)["source"]) == ("warning", "uvicorn.error")
    assert SECRET not in line


def test_lines_below_the_level_are_not_written() -> None:
    """The setting `log_level`."""
    stream = written(style="text", level="warning")
    structlog.get_logger().info("quiet")
    assert stream.getvalue() == ""
