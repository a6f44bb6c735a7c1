"""Workstead: a self-hosted workplace for AI agents."""

import contextlib
import sys

# structlog takes rich along for traces in colour where it can, and looks only while it is first imported. Nobody sees
# those here, and they would cost every process 8 MB. The launcher of commands has no installed packages at all.
if "structlog" not in sys.modules and "rich" not in sys.modules:
    sys.modules["rich"] = None  # type: ignore[assignment]
    with contextlib.suppress(ImportError):
        import structlog  # noqa: F401

    del sys.modules["rich"]
