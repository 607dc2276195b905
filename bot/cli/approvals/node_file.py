"""Show and change a node's exec-approvals.json through the gateway."""

import json
from typing import Any

from bot.cli.paths import socket_path
from bot.client import Client
from core.approvals.file import edit
from core.approvals.file.base_hash import ABSENT
from core.errors import BadRequest, Forbidden
from core.model.approval import AllowlistEntry


class NodeApprovals:
    """The file of one node; each change is refused if the file has changed in the meantime."""

    def __init__(self, node: str) -> None:
        self.node = node

    @property
    def words(self) -> str:
        """Return the file's name in messages."""
        return f"exec-approvals.json of node {self.node}"

    def shown(self) -> dict[str, Any]:
        """Return the file's JSON without its socket; ``{}`` without a file.

        Raises:
            SaysoError: the gateway or the node cannot be asked.
        """
        found = self._read()
        file: dict[str, Any] = found["file"]
        return {} if found["hash"] == ABSENT else file

    def lint(self) -> tuple[str, ...]:
        """Return one sentence for each thing in the file that a person should check."""
        return tuple(map(str, self._read()["warnings"]))

    def replace(self, text: str) -> None:
        """Replace the whole text of the file; its socket is kept.

        Raises:
            BadRequest: the text is not a JSON object, or the node refuses it; nothing was changed.
            Forbidden: the gateway does not let this caller; nothing was changed.
        """
        try:
            file = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadRequest(f"The new text is not JSON: {error}. Nothing was changed.") from None
        if not isinstance(file, dict):
            raise BadRequest("The new text is not a JSON object. Nothing was changed.")
        file.pop("socket", None)
        self._write(file, self._read()["hash"])

    def add(self, agent: str, pattern: str, argv: tuple[str, ...] | None) -> AllowlistEntry:
        """Add an entry, and return it; an existing one is returned unchanged.

        Raises:
            BadRequest: the entry could never match; nothing was changed.
            Forbidden: the gateway does not let this caller; nothing was changed.
        """
        found = self._read()
        file = edit.begun(found["file"])
        entry, changed = edit.add_entry(file, agent, pattern, argv)
        if changed:
            self._write(file, found["hash"])
        return entry

    def remove(self, agent: str, pattern_or_id: str) -> bool:
        """Remove an entry; return ``False`` if none has that pattern or id.

        Raises:
            Forbidden: the gateway does not let this caller; nothing was changed.
        """
        found = self._read()
        removed = edit.remove_entry(found["file"], agent, pattern_or_id)
        if removed:
            self._write(found["file"], found["hash"])
        return removed

    def _read(self) -> dict[str, Any]:
        with Client(socket_path()) as client:
            found: dict[str, Any] = client.call("exec.approvals.node.get", {"id": self.node})
        return found

    def _write(self, file: dict[str, Any], base_hash: str) -> None:
        wanted = {"id": self.node, "file": file, "baseHash": base_hash}
        with Client(socket_path()) as client:
            done = client.call("exec.approvals.node.set", wanted)
        if not done["done"]:
            raise Forbidden(done["sentence"])
