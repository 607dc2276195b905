"""Change this home's exec-approvals.json and journal the change: who, what, before and after.

A running gateway makes the change and the record, through its method; without one both are made
here, under the journal's lock, which a gateway that starts in the meantime has to wait for. Its
lock shows whether one runs: a connection can fail for reasons under the caller's control.
"""

import asyncio
import json
import os
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from bot.client import Client
from bot.factories.policy import idle_of
from bot.policy_tools.home_journal import journal_of
from bot.policy_tools.judge import APPROVALS_NAME, present_settings
from bot.settings import InvalidConfig, ensure_home, home_folder
from core.approvals.file import edit
from core.approvals.file.base_hash import base_hash, present_hash, replace_recorded
from core.approvals.file.file import ApprovalsFile
from core.approvals.file.schema import NEW_TEXT, Raw, parse
from core.audit.journal import AuditJournal
from core.errors import (
    AnotherGateway,
    BadRequest,
    Conflict,
    Forbidden,
    GatewayUnreachable,
    JournalBusy,
)
from core.ipc.frames import MAX_FRAME
from core.ipc.socket_file import is_owned
from core.model.approval import AllowlistEntry

Result = TypeVar("Result")

_TRIES = 20
_PATIENCE_S = 10.0
_POLL_S = 0.05
_LARGEST = MAX_FRAME - 4_096
_TOO_LARGE = (
    "{} is too large ({:.0f} MB) to be changed through the running gateway. Stop the gateway and "
    "repeat the command, or cover several entries by a glob. Nothing was changed."
)
_UNREACHED = (
    "A gateway runs on {} and could not be asked to make this change. Nothing was changed. Look at "
    "`sayso status`, or stop it and repeat the command. The attempt failed with: {}"
)


class OwnApprovals:
    """The file of a home.

    Each change may raise Forbidden, if a running gateway does not permit this caller,
    AnotherGateway, if one runs but cannot be reached, and JournalError, if it cannot be recorded;
    then nothing was changed.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.home = home_folder(None, environ)
        self.file = ApprovalsFile(self.home / APPROVALS_NAME)
        # The real path, because the same place can be spelled too long for a socket.
        self._socket = self.home.resolve() / "gateway.sock"

    def lint(self) -> tuple[str, ...]:
        """Return one sentence for each thing in the file that a person should check.

        Raises:
            ApprovalsFileError: it is corrupt, unsafe or lost.
        """
        return self.file.lint()

    def replace(self, text: str) -> None:
        """Replace the whole text of the file, even of a corrupt or lost one.

        Raises:
            ApprovalsFileError: the new text is not valid; nothing was changed.
            SaysoError: see the class.
        """
        raw, _ = parse(text.encode(errors="surrogatepass"), NEW_TEXT)
        self._put(raw, present_hash(self.file))

    def add(self, agent: str, pattern: str, argv: tuple[str, ...] | None) -> AllowlistEntry:
        """Add an entry and return it, or the existing one; an idle one starts over.

        Raises:
            BadRequest: the entry could never count, or it is idle and cannot be distinguished from
            another.
            SaysoError: see ``change``.
        """

        def added(raw: Raw) -> tuple[AllowlistEntry, bool]:
            entry, changed = edit.add_entry(raw, agent, pattern, argv)
            if changed or not self._is_idle(agent, entry):
                return entry, changed
            self._must_be_distinct(agent, entry)
            # To a running gateway a new id is a new entry: its time starts when it is first seen.
            edit.remove_entry(raw, agent, entry.id or pattern)
            return edit.add_entry(raw, agent, pattern, argv)

        return self.change(added)

    def remove(self, agent: str, pattern_or_id: str) -> bool:
        """Remove an agent's entry by pattern or id; ``False`` if there was none.

        Raises:
            SaysoError: see ``change``.
        """
        return self.change(lambda raw: (edit.remove_entry(raw, agent, pattern_or_id),) * 2)

    def change(self, edit_it: Callable[[Raw], tuple[Result, bool]]) -> Result:
        """Apply an edit, which returns whether it changed anything; retry if the file has changed.

        Raises:
            ApprovalsFileError: the file is corrupt, unsafe or lost; it was left as it is.
            SaysoError: see the class.
        """
        for _ in range(_TRIES - 1):
            try:
                return self._changed(edit_it)
            except Conflict:
                continue
        return self._changed(edit_it)

    def _changed(self, edit_it: Callable[[Raw], tuple[Result, bool]]) -> Result:
        shown = self.file.shown()
        base = base_hash(shown)
        raw = edit.begun(shown)
        result, changed = edit_it(raw)
        if changed:
            self._put(raw, base)
        return result

    def _put(self, raw: Raw, base: str) -> None:
        until = time.monotonic() + _PATIENCE_S
        while True:
            try:
                return self._by_gateway(raw, base)
            except GatewayUnreachable as error:
                why = str(error)
            try:
                return self._here(raw, base, why)
            except JournalBusy:  # another command, or a gateway that is about to listen
                if time.monotonic() > until:
                    raise
                time.sleep(_POLL_S)

    def _by_gateway(self, raw: Raw, base: str) -> None:
        size = len(json.dumps(raw))
        with Client(str(self._socket)) as client:
            if size > _LARGEST:
                client.call("lockdown.get", {})  # raises if no gateway runs
                raise BadRequest(_TOO_LARGE.format(APPROVALS_NAME, size / 1e6))
            done = client.call("exec.approvals.set", {"file": raw, "baseHash": base})
        if not done["done"]:
            raise Forbidden(done["sentence"])

    def _here(self, raw: Raw, base: str, why: str) -> None:
        """Change the file without a gateway; ``why`` none could be asked."""
        text = json.dumps(raw, ensure_ascii=False)
        ensure_home(self.home)
        with AuditJournal(journal_of(self.home, self._environ)) as journal:
            if is_owned(self._socket):
                raise AnotherGateway(_UNREACHED.format(self.home, why))
            by = f"uid:{os.getuid()}"
            asyncio.run(replace_recorded(self.file, journal, text, base, by))

    def _is_idle(self, agent: str, entry: AllowlistEntry) -> bool:
        try:
            settings = present_settings(self._environ)
        except InvalidConfig:
            return False  # no gateway starts with it, so which entries are idle is unknown
        owner = edit.known_agent(agent)
        idle = idle_of(settings, settings.home).sort(owner, self.file.entries(owner))
        return any(one == entry for one, _ in idle.idle)

    def _must_be_distinct(self, agent: str, entry: AllowlistEntry) -> None:
        entries = self.file.entries(edit.known_agent(agent))
        if entry.id is None and sum(one.pattern == entry.pattern for one in entries) > 1:
            raise BadRequest(
                f"{entry.words!r} is listed but idle, has no id and shares its pattern with "
                "another entry. Remove them and add each again."
            )
