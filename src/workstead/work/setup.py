"""Setting up: what `workstead init` asks of the server, one procedure over the operations; repeating it is harmless."""

from collections.abc import Mapping
from pathlib import Path

from workstead import errors
from workstead.kernel.access import Proof
from workstead.kernel.canonical import Json
from workstead.kernel.operations import Door, Operations
from workstead.work import template
from workstead.workspace import files


async def initialise(operations: Operations, proof: Proof, given: Mapping[str, Json]) -> Json:
    """Make a project of a folder and say which files were written into its `.workstead/`.

    given: the input of `create_project`. Returns slug, folder, trusted, `written` (paths in the folder) and `existed`:
    a folder that is a project already is answered as it is, and nothing is written. Raises what `create_project` does.
    """
    folder = Path(str(given.get("folder", "")))
    there = await _project_of(operations, proof, real=_real(folder))
    if there is not None:
        return there
    materials = template.materialise(str(given.get("template", template.CLASSIC)))
    before = _standing(folder, materials)
    made = await operations.run(proof, "create_project", given, door=Door.CLI)
    written = _standing(Path(made.folder), materials) - before
    shown: list[Json] = [*sorted(written)]
    return {
        "project": made.id,
        "slug": made.slug,
        "folder": made.folder,
        "trusted": made.trusted,
        "written": shown,
        "existed": False,
    }


def _real(folder: Path) -> str:
    return str(folder.resolve()) if folder.is_absolute() else ""


async def _project_of(operations: Operations, proof: Proof, *, real: str) -> dict[str, Json] | None:
    listed = await operations.run(proof, "list_projects", {}, door=Door.CLI)
    for one in listed.projects:
        found = await operations.run(proof, "get_project", {"project": one.id}, door=Door.CLI)
        if found.folder == real:
            configuration = await operations.run(proof, "get_configuration", {"project": one.id}, door=Door.CLI)
            return {
                "project": one.id,
                "slug": one.slug,
                "folder": real,
                "trusted": configuration.trusted,
                "written": [],
                "existed": True,
            }
    return None


def _standing(folder: Path, materials: Mapping[str, bytes]) -> set[str]:
    """Which of the template's files stand in the folder."""
    found = set()
    try:
        with files.Folder(folder) as opened:
            for name in materials:
                path = f"{files.OWN}/{name}"
                if _stands(opened, path):
                    found.add(path)
    except errors.Refusal:
        # The operation says what is wrong with the folder.
        return set()
    return found


def _stands(opened: files.Folder, path: str) -> bool:
    try:
        opened.stat(path)
    except errors.Refusal:
        return False
    return True
