"""Keep exec-approvals.json: the policy floor, and where allow-always is remembered (S0, S1).

One ``lstat`` answers most reads. Writers lock, read again, change only what they mean to change,
and replace the file at once, so that neither a second gateway nor a person's editor loses a line.
"""

import contextlib
import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from core.approvals.file import edit
from core.approvals.file.document import ApprovalsDocument
from core.approvals.file.schema import Raw, parse
from core.errors import ApprovalsFileError, StateError
from core.files.private_state import (
    Identity,
    back_up,
    identity,
    is_settled,
    keep_copy,
    locked,
    read_private,
    replace_private,
    writing,
)
from core.model.approval import AllowlistEntry
from core.model.decision import Content
from core.model.identity import AgentId
from core.model.policy import PolicyLayer

_LOG = logging.getLogger(__name__)
_LARGE = 8 << 20
"""Bytes from which on it is logged that the file is read, and how long that took."""
_MANY = (
    "%s has %d entries and took %.1f s to read; globs and templates may cover the same with fewer"
)
_EMPTY = ApprovalsDocument()
_WRITE_TRIES = 20
_NO_IDENTITY: Identity = (0, 0, 0, 0, 0)

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Copy:
    """What was read last: the file's identity, the SHA-256 of its bytes, its meaning."""

    identity: Identity
    digest: bytes
    settled: bool
    document: ApprovalsDocument


class ApprovalsFile:
    """One exec-approvals.json; safe to share between threads.

    Methods that change the file wait for the disk (about 1 ms): call them through
    ``asyncio.to_thread``.
    """

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._copy: _Copy | None = None
        self._unusable: tuple[Identity, ApprovalsFileError] | None = None

    @property
    def last_good(self) -> Path:
        """Return where the last content that could be read is kept."""
        return Path(self._path + ".last-good")

    def is_read(self) -> bool:
        """Return whether ``read`` would answer from memory; one look at the file."""
        try:
            found = identity(os.lstat(self._path))
        except OSError:
            return True
        if self._unusable is not None and self._unusable[0] == found:
            return True
        return self._copy is not None and self._copy.settled and self._copy.identity == found

    def read(self) -> ApprovalsDocument:
        """Return what the file says now; without a file, nothing is set and nothing is listed.

        Raises:
            ApprovalsFileError: corrupt, unsafe or lost; nothing may be allowed.
        """
        try:
            status = os.lstat(self._path)
        except FileNotFoundError:
            return self._missing()
        except OSError as error:
            raise ApprovalsFileError(f"{self._path}: {error.strerror}.") from error
        copy, unusable = self._copy, self._unusable
        if copy is not None and copy.settled and copy.identity == identity(status):
            return copy.document
        if unusable is not None and unusable[0] == identity(status):
            raise ApprovalsFileError(str(unusable[1]))
        return self._load()

    def layer(self, agent: AgentId) -> PolicyLayer:
        """Return the policy that the file sets for an agent.

        Raises:
            ApprovalsFileError: see ``read``.
        """
        return self.read().layer(agent)

    def entries(self, agent: AgentId) -> tuple[AllowlistEntry, ...]:
        """Return an agent's entries, without those that ``lint`` reports as ignored.

        Raises:
            ApprovalsFileError: see ``read``.
        """
        found = self.read().agents.get(agent)
        return found.allowlist if found is not None else ()

    def lint(self) -> tuple[str, ...]:
        """Return one sentence for each thing in the file that a person should look at.

        Raises:
            ApprovalsFileError: see ``read``.
        """
        return self.read().lint()

    def shown(self) -> Raw:
        """Return the file's JSON for display, with its token left out; ``{}`` without a file.

        Raises:
            ApprovalsFileError: see ``read``.
        """
        self.read()
        try:
            return edit.masked(parse(read_private(self._path)[0], self._path)[0])
        except FileNotFoundError:
            return {}

    def add(
        self, agent: str, pattern: str, argv: tuple[str, ...] | None = None, content: Content = ()
    ) -> AllowlistEntry:
        """Add an entry, limited as ``AllowlistEntry`` says, and return it or the existing one.

        Raises:
            BadRequest: the entry could never match, or no single agent is named.
            ApprovalsFileError: the file is corrupt or unsafe; it was left as it is.
            StateError: it could not be written; it was left as it is.
        """
        return self._change(lambda raw: edit.add_entry(raw, agent, pattern, argv, content))

    def remove(self, agent: str, pattern_or_id: str) -> bool:
        """Remove an agent's entry by pattern or id; ``False`` if there was none.

        Raises:
            ApprovalsFileError: the file is corrupt or unsafe; it was left as it is.
            StateError: it could not be written; it was left as it is.
        """
        return self._change(lambda raw: (edit.remove_entry(raw, agent, pattern_or_id),) * 2)

    def replace(self, text: str, check: Callable[[], None] = lambda: None) -> ApprovalsDocument:
        """Put a whole new text in the file's place, also of a corrupt or lost one.

        A text without ``socket`` keeps the present one. A corrupt file is kept beside it as
        ``exec-approvals.json.broken``. ``check`` runs under the lock and raises to stop.

        Raises:
            ApprovalsFileError: the new text is not valid; nothing was changed.
            StateError: it could not be written; nothing was changed.
        """
        raw, _ = parse(text.encode(errors="surrogatepass"), "the new text")
        with self._lock():
            check()
            try:
                old: Raw | None = self._present()[0]
            except ApprovalsFileError:
                old = None
                back_up(self._path, self._path + ".broken")
            edit.keep_socket(raw, old, self._socket_path())
            self._write(edit.dumped(raw))
            return self._load()

    def _change(self, change: Callable[[Raw], tuple[Result, bool]]) -> Result:
        """Apply a change to the file's current content, if it has anything to write."""
        with self._lock():
            for _ in range(_WRITE_TRIES):
                raw, seen = self._present()
                result, changed = change(raw)
                if not changed:
                    return result
                data = edit.dumped(raw)
                document = parse(data, self._path)[1]
                if self._unchanged(seen):
                    self._write(data)
                    self._accept(data, document)
                    return result
        raise StateError(f"{self._path} keeps changing. Close any editor that has it open.")

    def _present(self) -> tuple[Raw, Identity | None]:
        """Return the JSON in the file and the file's identity; a new content without a file."""
        try:
            data, status = read_private(self._path)
        except FileNotFoundError:
            self._missing()
            return edit.fresh(self._socket_path()), None
        return parse(data, self._path)[0], identity(status)

    def _unchanged(self, seen: Identity | None) -> bool:
        """Return whether the file is still the one that was read: an editor takes no lock."""
        try:
            return identity(os.lstat(self._path)) == seen
        except FileNotFoundError:
            return seen is None

    def _load(self) -> ApprovalsDocument:
        """Read the file; parse it only if its bytes are not the ones known already."""
        try:
            data, status = read_private(self._path)
        except FileNotFoundError:
            return self._missing()
        copy = self._copy
        if copy is not None and copy.digest == hashlib.sha256(data).digest():
            self._copy = replace(copy, identity=identity(status), settled=is_settled(status))
            return copy.document
        began = time.monotonic()
        if len(data) > _LARGE:
            _LOG.info("reading %s: %.0f MB", self._path, len(data) / 1e6)
        try:
            document = parse(data, self._path)[1]
        except ApprovalsFileError as error:
            self._unusable = (identity(status), error) if is_settled(status) else None
            raise
        self._accept(data, document, status)
        if len(data) > _LARGE:
            count = sum(len(part.allowlist) for part in document.agents.values())
            took_s = time.monotonic() - began
            _LOG.warning(_MANY, self._path, count, took_s)
        return document

    def _accept(
        self, data: bytes, document: ApprovalsDocument, status: os.stat_result | None = None
    ) -> None:
        """Remember what the bytes mean; without a status they are compared again when read."""
        keep_copy(str(self.last_good), data)
        self._copy = _Copy(
            identity=identity(status) if status else _NO_IDENTITY,
            digest=hashlib.sha256(data).digest(),
            settled=status is not None and is_settled(status),
            document=document,
        )

    def _missing(self) -> ApprovalsDocument:
        """Take a file that never was for empty, and one that has vanished for lost.

        Its limits would be lost with it: absence of information is the stricter answer.
        """
        if os.path.lexists(self._path + ".last-good"):
            raise ApprovalsFileError(
                f"{self._path} is missing, but its last good copy exists. Restore it: "
                f"cp -p '{self._path}.last-good' '{self._path}' (or remove the copy as well)"
            )
        self._copy = None
        return _EMPTY

    def _write(self, data: bytes) -> None:
        with writing(self._path):
            replace_private(self._path, data)

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        path = Path(self._path)
        with writing(self._path):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(str(path.with_suffix(".lock"))):
            yield

    def _socket_path(self) -> str:
        return str(Path(self._path).with_suffix(".sock"))
