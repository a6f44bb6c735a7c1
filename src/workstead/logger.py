"""The library that writes the log, loaded without what only shows traces in colour."""

import sys

# structlog takes rich along where it can, and looks only while it is first imported: 8 MB for nothing in each process.
_BLOCKED = "rich" not in sys.modules
if _BLOCKED:
    sys.modules["rich"] = None  # type: ignore[assignment]

import structlog  # noqa: E402

if _BLOCKED:
    del sys.modules["rich"]

__all__ = ["get_logger", "structlog"]

get_logger = structlog.get_logger
