"""Workstead: a self-hosted workplace for AI agents."""

import sys

# structlog takes rich along for traces in colour where it can, and looks only while it is first imported. Nobody sees
# those here, and they would cost every process 8 MB.
if "structlog" not in sys.modules and "rich" not in sys.modules:
    sys.modules["rich"] = None  # type: ignore[assignment]
    import structlog  # noqa: F401

    del sys.modules["rich"]
