"""Style sheets, scripts and images, read once at start; their address carries the digest of all of them."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

FOLDER = Path(__file__).with_name("static")

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FOR_EVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, kw_only=True)
class StaticFiles:
    """Everything static of one release. digest: of names and contents; modules import each other below it."""

    digest: str
    contents: Mapping[str, bytes]

    def url(self, name: str) -> str:
        """The address of one file; raises KeyError for a name that is not there."""
        if name not in self.contents:
            raise KeyError(name)
        return f"/static/{self.digest}/{name}"

    async def serve(self, request: Request) -> Response:
        """One file; another release's digest is not found, because what it meant is gone."""
        name = request.path_params["name"]
        body = self.contents.get(name)
        if body is None or request.path_params["digest"] != self.digest:
            return PlainTextResponse("There is no such file.\n", status_code=404)
        headers = {"content-type": _TYPES[Path(name).suffix], "cache-control": _FOR_EVER}
        return Response(body, headers=headers)


def read(folder: Path = FOLDER) -> StaticFiles:
    """Read the files of a folder; only the kinds of file that pages use."""
    contents = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix in _TYPES}
    digest = hashlib.sha256()
    for name, body in contents.items():
        digest.update(f"{len(name)}:{name}:{len(body)}:".encode())
        digest.update(body)
    return StaticFiles(digest=digest.hexdigest()[:16], contents=contents)
