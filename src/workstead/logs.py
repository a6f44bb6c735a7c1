"""The log: one line style on standard error, text or JSON, with secrets hidden in every line (K18)."""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO, cast

from workstead.kernel import canonical
from workstead.kernel.canonical import Json
from workstead.kernel.redaction import Redactor
from workstead.logger import get_logger, structlog

_LIBRARIES_LEVEL = logging.WARNING


def configure(*, level: str, style: str, redactor: Redactor, stream: TextIO = sys.stderr) -> None:
    """Send every log line of the process, the libraries' warnings included, through one redacting writer.

    level: the least severe that is written. style: `text` or `json`.
    """

    def redact(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        safe: dict[str, Json] = {key: _plain(value) for key, value in event.items()}
        return cast("dict[str, Any]", redactor.tree(safe).value)

    least = logging.getLevelNamesMapping()[level.upper()]
    last = structlog.processors.JSONRenderer(serializer=_json) if style == "json" else _line
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            redact,
            last,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=structlog.PrintLoggerFactory(file=stream),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers = [_Forward(level=max(least, _LIBRARIES_LEVEL))]
    root.setLevel(max(least, _LIBRARIES_LEVEL))


class _Forward(logging.Handler):
    """Hands what libraries log to the one writer."""

    def emit(self, record: logging.LogRecord) -> None:
        log = get_logger()
        log.log(record.levelno, record.getMessage(), source=record.name, exc_info=record.exc_info)


def _plain(value: object) -> Json:
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


def _json(value: object, **_: object) -> str:
    return canonical.text(value)


def _line(_: object, __: str, event: MutableMapping[str, Any]) -> str:
    """`2026-01-01T00:00:00Z info serving port=8777`, with a trace on the lines after it."""
    at, level, said = (str(event.pop(key, "")) for key in ("timestamp", "level", "event"))
    trace = event.pop("exception", None)
    facts = "".join(f" {key}={value}" for key, value in sorted(event.items()))
    return f"{at} {level} {said}{facts}" + (f"\n{trace}" if trace else "")
