"""Keep the contacts: which agents on which machines are known, where, and whether trusted (S4).

They are in ``exec-contacts.json`` in $SAYSO_HOME, mode 0600. An agent that is not in it is not
trusted, and if the file cannot be read, none is.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from core.errors import NotFound, StateError
from core.files.private import read_private, replace_private
from core.ipc.strict_json import unique
from core.model.address import Address
from core.trust.ids import KeyId
from core.validation.model_errors import faults, place

FILE = "exec-contacts.json"
ContactName = Annotated[str, Field(pattern="^[a-z0-9][a-z0-9_.-]{0,31}$")]


class Trust(StrEnum):
    """What the local trust evaluator says about a contact."""

    ACCEPT = "accept"
    REJECT = "reject"


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", hide_input_in_errors=True)


class Contact(_Strict):
    """One agent on one machine. ``address`` is where it hosts runs, if it does.

    ``fingerprint`` is the SHA-256 of its TLS certificate in hex; a Unix socket needs none.
    """

    name: ContactName
    agent_id: KeyId
    machine_id: KeyId
    address: str | None = None
    fingerprint: KeyId | None = None
    trust: Annotated[Trust, Field(strict=False)] = Trust.REJECT

    @field_validator("address")
    @classmethod
    def _can_be_spoken_to(cls, address: str | None) -> str | None:
        return address if address is None else str(Address.parse(address))

    @model_validator(mode="after")
    def _tls_is_pinned(self) -> Self:
        if self.address is not None and self.fingerprint is None and not self.place.path:
            raise ValueError("a TLS address needs the host's fingerprint")
        return self

    @property
    def place(self) -> Address:
        """Return where it hosts runs.

        Raises:
            ValueError: it has no address.
        """
        return Address.parse(self.address or "")


class Contacts(_Strict):
    """All contacts; no two share a name, and an agent has one machine."""

    version: Literal[1] = 1
    contacts: Annotated[tuple[Contact, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        for field in ("name", "agent_id"):
            values = [getattr(one, field) for one in self.contacts]
            if len(set(values)) != len(values):
                raise ValueError(f"two contacts have the same {field}")
        return self

    def of_agent(self, agent_id: str) -> Contact | None:
        """Return the contact with an agent id."""
        return next((one for one in self.contacts if one.agent_id == agent_id), None)

    def named(self, word: str) -> Contact | None:
        """Return the contact with a name or an agent id."""
        return next((one for one in self.contacts if word in {one.name, one.agent_id}), None)

    def trusts(self, agent_id: str, machine_id: str) -> bool:
        """Return whether exactly this agent on this machine is known and accepted."""
        known = self.of_agent(agent_id)
        return known is not None and known.machine_id == machine_id and known.trust is Trust.ACCEPT

    def added(self, contact: Contact) -> "Contacts":
        """Return these contacts and one more.

        Raises:
            StateError: its name or agent id is taken.
        """
        taken = next(
            (o for o in self.contacts if contact.name == o.name or contact.agent_id == o.agent_id),
            None,
        )
        if taken is not None:
            raise StateError(
                f"{taken.name} already has that name or agent id. First run: sayso exec contacts "
                f"remove {taken.name}"
            )
        return Contacts(contacts=(*self.contacts, contact))

    def removed(self, name: str) -> "Contacts":
        """Return these contacts without one.

        Raises:
            NotFound: none has that name.
        """
        if self.named(name) is None:
            raise NotFound(f"No contact is named {name!r}; see `sayso exec contacts list`.")
        kept = tuple(one for one in self.contacts if name not in {one.name, one.agent_id})
        return Contacts(contacts=kept)


class ContactsFile:
    """The file; read again each time, since revoked trust must count at once."""

    def __init__(self, home: Path) -> None:
        self.path = home / FILE

    def read(self) -> Contacts:
        """Return what the file says; without a file, no contacts.

        Raises:
            StateError: it is unsafe or malformed.
        """
        try:
            text = read_private(self.path)
        except FileNotFoundError:
            return Contacts()
        try:
            return Contacts.model_validate(json.loads(text, object_pairs_hook=unique))
        except ValidationError as error:
            raise StateError(f"{self.path} cannot be used: {message_for(error)} Fix it.") from None
        except (ValueError, RecursionError) as error:
            raise StateError(f"{self.path} is not JSON: {error}. Fix it.") from None

    def change(self, change: Callable[[Contacts], Contacts]) -> None:
        """Replace the contacts with the result of ``change``; two programs take turns.

        Raises:
            StateError: nothing was replaced.
        """
        with self._locked():
            self.write(change(self.read()))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        name = self.path.with_name(f"{self.path.name}.lock")
        try:
            descriptor = os.open(name, flags, 0o600)
        except OSError as error:
            raise StateError(f"{name} cannot be made: {error.strerror}.") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def write(self, contacts: Contacts) -> None:
        """Replace the file.

        Raises:
            StateError: nothing was replaced.
        """
        text = contacts.model_dump_json(indent=2, exclude_none=True)
        replace_private(self.path, text.encode() + b"\n")


def message_for(error: ValidationError) -> str:
    """Return what a model refused, as one line; values are not quoted."""
    return "; ".join(f"{place(at)}: {words}" if at else words for at, words in faults(error)) + "."
