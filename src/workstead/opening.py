"""Opening a page in the person's own browser, where there is a screen to show it on."""

import os
import sys
import threading
import webbrowser
from collections.abc import Mapping


def show(address: str, *, environ: Mapping[str, str] | None = None) -> bool:
    """Open the address in the default browser, without waiting for it; False where there is no screen.

    The address is printed as well by whoever calls: a browser that fails to start takes nothing away.
    """
    if not has_screen(os.environ if environ is None else environ):
        return False
    # The standard library waits for some browsers, and a demo must not hang on one.
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    return True


def has_screen(environ: Mapping[str, str]) -> bool:
    """Whether a browser that was opened here could be seen."""
    if not sys.platform.startswith("linux"):
        return True
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY") or environ.get("WSL_DISTRO_NAME"))
