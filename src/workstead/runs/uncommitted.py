"""Uncommitted changes: whether a run starts on a folder whose person has not committed everything; it goes on anyway.

git runs inside the launcher: a repository's own configuration can name programs, and flags do not disarm it (S1).
"""

from pathlib import Path

from workstead import errors
from workstead.workspace.files import Folder
from workstead.workspace.launcher import Launcher
from workstead.workspace.spec import Command

_STATUS = ("git", "status", "--porcelain", "--untracked-files=normal", "--", ".", ":(exclude).workstead")
_TIMEOUT_S = 20.0


async def notice(launcher: Launcher, root: Path) -> str | None:
    """One sentence for the person, or None when everything is committed or the folder is no repository."""
    with Folder(root) as folder:
        try:
            folder.stat(".git")
        except errors.Refusal:
            return None
    done = await launcher.run(Command(folder=root, argv=_STATUS), timeout_s=_TIMEOUT_S)
    changed = [line for line in done.stdout.decode("utf-8", "replace").splitlines() if line.strip()]
    if done.ending.kind != "exited" or done.ending.code != 0:
        return "git could not say whether the folder has uncommitted changes; the run goes on."
    if not changed:
        return None
    what = "1 file that is" if len(changed) == 1 else f"{len(changed)} files that are"
    return f"The folder has {what} not committed; the run goes on and works on top of them."
