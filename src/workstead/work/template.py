"""The templates a project's configuration is started from; they ship inside the package."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from workstead import errors

CLASSIC = "classic"
PRACTICE = "practice"
TEMPLATES = (CLASSIC,)
PROFILES = (PRACTICE,)

_ROOT = Path(__file__).parent / "templates"
_BUNDLED = "bundled/"
_IGNORED = b"# Captured output and scratch files of commands.\nwork/\n"


def materialise(template: str = CLASSIC, *, profile: str = PRACTICE) -> Mapping[str, bytes]:
    """Every file of a new project's `.workstead/`, by its path in there.

    profile: who answers model calls; `practice` needs no key.
    Raises invalid `template_unknown`, `profile_unknown`.
    """
    if template not in TEMPLATES:
        raise errors.invalid("template_unknown", f"There is no template {template!r}; there is {', '.join(TEMPLATES)}.")
    if profile not in PROFILES:
        raise errors.invalid("profile_unknown", f"There is no profile {profile!r}; there is {', '.join(PROFILES)}.")
    root = _ROOT / template
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in _files(root)}
    return files | {".gitignore": _IGNORED}


def read_bundled(path: str) -> bytes | None:
    """A prompt that comes with the product, by its path `bundled/prompts/...`; None when there is none."""
    root = _ROOT / CLASSIC
    wanted = (root / path.removeprefix(_BUNDLED)).resolve()
    return wanted.read_bytes() if wanted.is_relative_to(root.resolve()) and wanted.is_file() else None


def _files(root: Path) -> Iterator[Path]:
    return (path for path in sorted(root.rglob("*")) if path.is_file())
