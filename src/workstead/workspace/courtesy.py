"""Courtesy: how far commands stand behind the server when processors are scarce. Runs in the launcher."""

import contextlib
import os
import time

NICE = 10
_GROUP = "/proc/self/autogroup"
_TRIES, _STEP_S = 4, 0.03


def step_back() -> None:
    """Lower the priority of this process and of its session.

    Where Linux shares processors among sessions first, `nice` says only who comes first inside one; the session's own
    value says it beside the others. The kernel takes few such changes at a time and asks to try again.
    """
    os.nice(NICE)
    for _ in range(_TRIES):
        try:
            group = os.open(_GROUP, os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            return  # not built in, or not to be had here
        try:
            os.write(group, b"%d" % NICE)
        except BlockingIOError:
            time.sleep(_STEP_S)
        except OSError:
            return
        else:
            return
        finally:
            with contextlib.suppress(OSError):
                os.close(group)
