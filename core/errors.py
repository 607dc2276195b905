"""The one exception tree. An exception means that Sayso failed, and then nothing runs.

::

    SaysoError
    ├── ConfigError            a setting is unknown, duplicated or ill-typed          exit 2
    ├── BadRequest             a frame or request cannot be understood                exit 2
    │   ├── NotFound           nothing has the id that was named                      exit 2
    │   └── Conflict           what was to be changed has since changed           exit 2
    ├── Forbidden              this caller may not call this method                   exit 3
    ├── Unauthenticated        a token is missing, unknown, expired or revoked        exit 3
    ├── StateError             $SAYSO_HOME or a file in it cannot be used             exit 1
    │   ├── AnotherGateway     the store is held by a running gateway
    │   └── ApprovalsFileError exec-approvals.json is corrupt or unsafe
    ├── StoreError             the database cannot be reached, read or written        exit 1
    │   ├── StoreAway          it cannot be reached or used at present
    │   │   └── CommitInDoubt  it broke during a commit, so its result is unknown
    │   └── StoreFull          no space left: nothing runs until there is
    ├── JournalError           the audit journal cannot be written: nothing runs      exit 1
    ├── GatewayUnreachable     no gateway answers on the socket                       exit 1
    ├── Unanswered             it was asked, and no answer came: it may have acted    exit 5
    ├── Stopping               the gateway stops and takes nothing new                exit 1
    ├── PlanDrift              what was approved is not what is there now: denied     exit 3
    ├── LockedDown             nothing may run until a person lifts the lockdown      exit 3
    ├── HostUnavailable        the host of a plan does not work here: denied          exit 3
    ├── SpawnError             the launcher could not start a command                 exit 1
    └── ChannelError           a chat platform refused or cannot be reached           exit 1

The class docstring is the default message and says what to do next.
"""

from typing import ClassVar


class SaysoError(Exception):
    """Sayso failed. Nothing ran; see the gateway's log for the cause."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class ConfigError(SaysoError):
    """The configuration cannot be used. Fix the named key; run `sayso config check` for details."""

    exit_code: ClassVar[int] = 2


class BadRequest(SaysoError):
    """The request is not valid. Correct it and retry."""

    exit_code: ClassVar[int] = 2


class NotFound(BadRequest):
    """Nothing has this id, or nothing that this caller may know of."""


class Conflict(BadRequest):
    """It has changed since you read it; nothing was changed. Read it again and retry."""


class Forbidden(SaysoError):
    """This caller may not do this. Use a token with the scope that the method needs."""

    exit_code: ClassVar[int] = 3


class Unauthenticated(SaysoError):
    """No token, or an invalid one, was sent. Create one with `sayso token create`."""

    exit_code: ClassVar[int] = 3


class StateError(SaysoError):
    """A file in $SAYSO_HOME cannot be used. `sayso doctor` names it and says how to fix it."""


class AnotherGateway(StateError):
    """Another gateway holds this store. Stop it, or set store.url to postgresql:// for several."""


class ApprovalsFileError(StateError):
    """exec-approvals.json cannot be used. Fix it, or restore exec-approvals.json.last-good."""


class StoreError(SaysoError):
    """The database cannot be used, so nothing runs. Check store.url and the disk."""


class StoreAway(StoreError):
    """The database cannot be used at present, so nothing runs. Check store.url and the disk."""


class CommitInDoubt(StoreAway):
    """The database broke during a commit: its result is unknown. Repeat the call with its key.

    ``made`` is what the operation returns if it was committed.
    """

    def __init__(self, message: str = "", made: object = None) -> None:
        super().__init__(message)
        self.made = made


class StoreFull(StoreError):
    """The disk is full, so nothing runs. Free some space; pending approvals are kept."""


class JournalError(SaysoError):
    """The audit journal cannot be written, so nothing runs. Free space or fix its permissions."""


class JournalBusy(JournalError):
    """Another process is writing the audit journal, perhaps a running gateway. Stop it first."""


class GatewayUnreachable(SaysoError):
    """No gateway is listening on the socket. Start one with `sayso serve`."""


class Unanswered(SaysoError):
    """The gateway was asked and did not answer. It may have acted on the request, or may still."""

    exit_code: ClassVar[int] = 5


class Stopping(SaysoError):
    """The gateway is stopping, so nothing was changed. Connect again when it is back."""


class PlanDrift(SaysoError):
    """What was approved is not what is there now, so nothing ran. Ask again."""

    exit_code: ClassVar[int] = 3


class LockedDown(SaysoError):
    """Sayso is locked down, so nothing runs. `sayso lockdown status` says why."""

    exit_code: ClassVar[int] = 3


class HostUnavailable(SaysoError):
    """The host that policy chose does not work here, so nothing ran. `sayso doctor` says why."""

    exit_code: ClassVar[int] = 3


class SpawnError(SaysoError):
    """The command could not be started. The message names the step that failed."""


class CancelledFirst(SpawnError):
    """The command was cancelled before it started, so nothing ran."""


class ChannelError(SaysoError):
    """A chat platform refused a message or cannot be reached. `sayso doctor` checks its token."""

    def __init__(
        self, message: str = "", *, retry_after_ms: int | None = None, permanent: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after_ms = retry_after_ms
        self.permanent = permanent
