"""Courtesy: how far commands stand behind the server when processors are scarce. Runs in the launcher, too."""

import contextlib
import os
import time

NICE = 10
_TRIES, _STEP_S = 4, 0.03


def step_back(pid: int = 0, *, tries: int = _TRIES) -> None:
    """Lower the priority of a process, its own for 0, and of its session.

    Where Linux shares processors among sessions first, a process's value says only who comes first inside one; the
    session's own says it beside the others. The kernel takes few such changes at a time and asks to try again.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, NICE)
    for _ in range(tries):
        try:
            group = os.open(f"/proc/{pid or 'self'}/autogroup", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return  # not built in, or not to be had here
        try:
            if os.read(group, 100).endswith(b" nice %d\n" % NICE):
                return
            os.write(group, b"%d" % NICE)
        except BlockingIOError:
            time.sleep(_STEP_S)
        except OSError:
            return
        else:
            return
        finally:
            os.close(group)
