"""Keep exec-approvals.json: the policy floor, and where allow-always is remembered (S0, S1).

One ``lstat`` answers most reads. Writers lock, read again, change only what they mean to change,
and replace the file at once, so that neither a second gateway nor a person's editor loses a line.
"""

import contextlib
import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from core.approvals.file import edit
from core.approvals.file.document import ApprovalsDocument
from core.approvals.file.last_use import Key, LastUse, fill_in, uses_of
from core.approvals.file.schema import NEW_TEXT, Raw, parse
from core.errors import ApprovalsFileError, StateError
from core.files.file_identity import FileIdentity, identity, is_settled
from core.files.lock import locked
from core.files.private import back_up, keep_copy, read_with_status, replace_private, writing
from core.model.approval import AllowlistEntry
from core.model.decision import Content
from core.model.identity import AgentId
from core.model.policy import PolicyLayer

_log = logging.getLogger(__name__)
_LARGE = 8 << 20
"""Bytes from which reading the file is logged, with how long it took."""
_MANY = (
    "%s has %d entries and took %.1f s to read; globs and templates may cover the same with fewer"
)
_EMPTY = ApprovalsDocument()
_WRITE_TRIES = 20
_NO_IDENTITY: FileIdentity = (0, 0, 0, 0, 0)

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Copy:
    """What was read last: the file's identity, the SHA-256 of its bytes, its meaning, its uses."""

    identity: FileIdentity
    digest: bytes
    settled: bool
    document: ApprovalsDocument
    uses: Mapping[Key, LastUse]


class ApprovalsFile:
    """One exec-approvals.json; safe to share between threads.

    Methods that change the file wait for the disk (about 1 ms): call them through
    ``asyncio.to_thread``.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._copy: _Copy | None = None
        self._unusable: tuple[FileIdentity, ApprovalsFileError] | None = None

    @property
    def last_good(self) -> Path:
        """Return where the last content that could be read is kept."""
        return self._beside(".last-good")

    def is_read(self) -> bool:
        """Return whether ``read`` would answer from memory; one check of the file."""
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
            return edit.masked(parse(self._read_bytes()[0], str(self._path))[0])
        except FileNotFoundError:
            return {}

    def uses(self) -> Mapping[Key, LastUse]:
        """Return the last use of each entry that the file holds.

        Raises:
            ApprovalsFileError: see ``read``.
        """
        self.read()
        return {} if self._copy is None else self._copy.uses

    def note_uses(self, uses: Mapping[Key, LastUse]) -> None:
        """Write newer last uses into the existing entries; nothing else changes.

        Raises:
            ApprovalsFileError: the file is corrupt or unsafe; it was left as it is.
            StateError: it could not be written; it was left as it is.
        """
        self._change(lambda raw: (None, fill_in(raw, uses)))

    def is_edited(self, within_s: float) -> bool:
        """Return whether the file was changed within this many seconds, or an editor has it open.

        Vim, nano and Emacs leave a file next to what they edit.
        """
        folder, name = os.path.split(self._path)
        if any(
            Path(folder, mark).is_symlink() or Path(folder, mark).exists()
            for mark in (f".{name}.swp", f".#{name}")
        ):
            return True
        try:
            return time.time() - os.lstat(self._path).st_mtime < within_s
        except OSError:
            return False

    def add(
        self,
        agent: str,
        pattern: str,
        argv: tuple[str, ...] | None = None,
        content: Content | None = None,
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
        """Put a whole new text in the file's place, even of a corrupt or lost one.

        A text without ``socket`` keeps the present one. A corrupt file is kept next to it as
        ``exec-approvals.json.broken``. ``check`` runs under the lock and raises to stop; it runs
        again right before the file is replaced, because an editor takes no lock.

        Raises:
            ApprovalsFileError: the new text is not valid; nothing was changed.
            BadRequest: it names what cannot be an agent; nothing was changed.
            StateError: it could not be written; nothing was changed.
        """
        raw, _ = parse(text.encode(errors="surrogatepass"), NEW_TEXT)
        with self._lock():
            check()
            try:
                old: Raw | None = self._present()[0]
            except ApprovalsFileError:
                old = None
                back_up(self._path, self._beside(".broken"))
            edit.refuse_names(raw, old)
            edit.keep_socket(raw, old, self._socket_path())
            fill_in(raw, {} if old is None else uses_of(old))
            self._write(edit.dumped(raw), lambda: _passes(check, old))
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
                document = parse(data, str(self._path))[1]
                if self._write(data, lambda: self._unchanged(seen)):  # noqa: B023 - called at once
                    self._accept(data, raw, document)
                    return result
        raise StateError(f"{self._path} keeps changing. Close any editor that has it open.")

    def _present(self) -> tuple[Raw, FileIdentity | None]:
        """Return the JSON in the file and the file's identity; a new content without a file."""
        try:
            data, status = self._read_bytes()
        except FileNotFoundError:
            self._missing()
            return edit.fresh(self._socket_path()), None
        return parse(data, str(self._path))[0], identity(status)

    def _unchanged(self, seen: FileIdentity | None) -> bool:
        """Return whether the file is still the one that was read: an editor takes no lock."""
        try:
            return identity(os.lstat(self._path)) == seen
        except FileNotFoundError:
            return seen is None

    def _load(self) -> ApprovalsDocument:
        """Read the file; parse it only if its bytes are not already known."""
        try:
            data, status = self._read_bytes()
        except FileNotFoundError:
            return self._missing()
        copy = self._copy
        if copy is not None and copy.digest == hashlib.sha256(data).digest():
            self._copy = replace(copy, identity=identity(status), settled=is_settled(status))
            return copy.document
        began = time.monotonic()
        if len(data) > _LARGE:
            _log.info("reading %s: %.0f MB", self._path, len(data) / 1e6)
        try:
            raw, document = parse(data, str(self._path))
        except ApprovalsFileError as error:
            self._unusable = (identity(status), error) if is_settled(status) else None
            raise
        document = self._accept(data, raw, document, status)
        if len(data) > _LARGE:
            count = sum(len(part.allowlist) for part in document.agents.values())
            took_s = time.monotonic() - began
            _log.warning(_MANY, self._path, count, took_s)
        return document

    def _accept(
        self,
        data: bytes,
        raw: Raw,
        document: ApprovalsDocument,
        status: os.stat_result | None = None,
    ) -> ApprovalsDocument:
        """Remember what the bytes mean; without a status they are compared again when read.

        Where they mean what they meant before, apart from last uses, the same object is returned:
        indexes that were built from it stay good.
        """
        keep_copy(self.last_good, data)
        if self._copy is not None and self._copy.document == document:
            document = self._copy.document
        self._copy = _Copy(
            identity=identity(status) if status else _NO_IDENTITY,
            digest=hashlib.sha256(data).digest(),
            settled=status is not None and is_settled(status),
            document=document,
            uses=uses_of(raw),
        )
        return document

    def _missing(self) -> ApprovalsDocument:
        """Treat a file that never existed as empty, and one that has vanished as lost.

        Its limits would be lost with it: absence of information means the stricter answer.
        """
        if os.path.lexists(self.last_good):
            raise ApprovalsFileError(
                f"{self._path} is missing, but its last good copy exists. Restore it: "
                f"cp -p '{self._path}.last-good' '{self._path}' (or remove the copy as well)"
            )
        self._copy = None
        return _EMPTY

    def _read_bytes(self) -> tuple[bytes, os.stat_result]:
        try:
            return read_with_status(self._path)
        except StateError as error:
            raise ApprovalsFileError(str(error)) from error

    def _beside(self, suffix: str) -> Path:
        return self._path.with_name(self._path.name + suffix)

    def _write(self, data: bytes, still: Callable[[], bool] = lambda: True) -> bool:
        with writing(self._path):
            return replace_private(self._path, data, still=still)

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        with writing(self._path):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(self._path.with_suffix(".lock")):
            yield

    def prepare_socket(self) -> ApprovalsDocument:
        """Return what the file says, with a path and a token for the socket where it had none.

        Raises:
            ApprovalsFileError: the file is corrupt or unsafe; it was left as it is.
            StateError: it could not be written; it was left as it is.
        """

        def complete(raw: Raw) -> tuple[None, bool]:
            added = edit.complete_socket(raw, self._socket_path())
            return None, added or not self._path.exists()

        self._change(complete)
        return self.read()

    @property
    def socket_path(self) -> Path:
        """Return where the socket is while the file does not say."""
        return Path(self._socket_path())

    def _socket_path(self) -> str:
        return str(self._path.with_suffix(".sock"))


def _passes(check: Callable[[], None], old: Raw | None) -> bool:
    """Check once more; a corrupt file was moved meanwhile, so that it is not the same."""
    if old is not None:
        check()
    return True
