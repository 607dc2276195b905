"""Serve the style sheet, scripts and icon from memory, under names made of their content."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from starlette.responses import Response

from bot.api.http.errors import Fault, FaultCode

_FOLDER = Path(__file__).with_name("assets")
_TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
_DIGITS = 12
_FOREVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class Assets:
    """All files by name; ``version`` is the hash of all of them."""

    files: Mapping[str, bytes]
    version: str

    @classmethod
    def load(cls, folder: Path = _FOLDER) -> "Assets":
        """Read all files of a folder once."""
        found = {one.name: one.read_bytes() for one in sorted(folder.iterdir())}
        whole = hashlib.sha256(b"\0".join(found.values())).hexdigest()
        return cls(found, whole[:_DIGITS])

    def url(self, name: str) -> str:
        """Return the address of a file."""
        if name not in self.files:
            raise KeyError(name)
        return f"/static/{self.version}/{name}"

    def response(self, version: str, name: str) -> Response:
        """Return a file, to be cached forever.

        Raises:
            Fault: this version has no such file.
        """
        data = self.files.get(name)
        if data is None or version != self.version:
            raise Fault(FaultCode.NOT_FOUND, "No such file.")
        kind = _TYPES[Path(name).suffix]
        return Response(data, media_type=kind, headers={"Cache-Control": _FOREVER})
