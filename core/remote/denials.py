"""Define why another machine's request did not run, and what was odd about one that did.

Both lists are closed and documented in ``docs/reference/denials.md``.
"""

from enum import StrEnum


class RemoteDenial(StrEnum):
    """Why nothing ran; a terminal result, never an exception (S4)."""

    BAD_REQUEST = "bad_request"
    SIGNATURE_INVALID = "signature_invalid"
    WRONG_MACHINE = "wrong_machine"
    EXPIRED = "expired"
    MACHINE_BINDING_UNVERIFIED = "machine_binding_unverified"
    UNTRUSTED = "untrusted"
    EXEC_DISABLED = "exec_disabled"
    ACL_PAIR_UNKNOWN = "acl_pair_unknown"
    REPLAYED = "replayed"
    TOO_MANY_REQUESTS = "too_many_requests"
    CWD_NOT_ALLOWED = "cwd_not_allowed"
    SHELL_METACHARACTER = "shell_metacharacter"
    ARGV_NOT_ALLOWED = "argv_not_allowed"
    STDIN_TOO_LARGE = "stdin_too_large"
    TIMEOUT_TOO_LONG = "timeout_too_long"
    CONCURRENCY_LIMIT = "concurrency_limit"
    EXECUTABLE_NOT_FOUND = "executable_not_found"
    BAD_CWD = "bad_cwd"
    CANCELLED = "cancelled"
    SPAWN_FAILED = "spawn_failed"
    AUDIT_UNAVAILABLE = "audit_unavailable"
    HOST_STOPPING = "host_stopping"
    LOCKED_DOWN = "locked_down"
    CONTACT_UNKNOWN = "contact_unknown"
    UNREACHABLE = "unreachable"
    FINGERPRINT_MISMATCH = "fingerprint_mismatch"

    @property
    def sentence(self) -> str:
        """Return what happened and what to do next, for a person."""
        return _SENTENCES[self]


class Notice(StrEnum):
    """What S4's ``warnings`` may say about a run that started, such as the reason why it ended."""

    STDOUT_LARGE = "stdout_large"
    STDERR_LARGE = "stderr_large"
    DURATION_LONG = "duration_long"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    LEASE_EXPIRED = "lease_expired"
    HOST_STOPPING = "host_stopping"
    END_UNSEEN = "end_unseen"
    AUDIT_INCOMPLETE = "audit_incomplete"
    CONNECTION_LOST = "connection_lost"
    ANSWER_TRIMMED = "answer_trimmed"

    @property
    def sentence(self) -> str:
        """Return what happened and what to do next, for a person."""
        return _NOTICES[self]


D = RemoteDenial
_SENTENCES = {
    D.BAD_REQUEST: "The host could not read the request. Use the same version on both sides.",
    D.SIGNATURE_INVALID: "The request is not signed by the agent that it names.",
    D.WRONG_MACHINE: "The request is for another machine. Correct machine_id of the contact.",
    D.EXPIRED: "The request is too old or from the future. Correct the clocks and retry.",
    D.MACHINE_BINDING_UNVERIFIED: "The request is not signed by the machine that it names.",
    D.UNTRUSTED: "The host does not trust this agent on this machine: `sayso exec contacts add`.",
    D.EXEC_DISABLED: "Remote exec is off on the host: its exec-acl.toml is missing or disabled.",
    D.ACL_PAIR_UNKNOWN: "The host's exec-acl.toml does not list this pair of agent and machine.",
    D.REPLAYED: "This request is a replay. Nothing ran a second time.",
    D.TOO_MANY_REQUESTS: "Too many requests to the host. Wait a minute and retry.",
    D.CWD_NOT_ALLOWED: "A request may not choose its folder; default_cwd of the host's ACL does.",
    D.SHELL_METACHARACTER: "An argument holds one of ; | & > < ` $, a newline or a NUL.",
    D.ARGV_NOT_ALLOWED: "No argument vector in the host's ACL matches this one.",
    D.STDIN_TOO_LARGE: "Standard input is larger than max_stdin_bytes of the host's ACL.",
    D.TIMEOUT_TOO_LONG: "The timeout is longer than max_duration_secs of the host's ACL.",
    D.CONCURRENCY_LIMIT: "The host's limit of concurrent runs is reached. Retry later.",
    D.EXECUTABLE_NOT_FOUND: (
        "The command is allowed, but its program is not on the host's search path."
    ),
    D.BAD_CWD: "default_cwd of the host's ACL cannot be entered.",
    D.CANCELLED: "It was cancelled before it started.",
    D.SPAWN_FAILED: "The command is allowed, but could not be started; see the host's log.",
    D.AUDIT_UNAVAILABLE: "The host cannot write its exec log, so nothing runs there.",
    D.HOST_STOPPING: "The host is stopping. Retry when it is back.",
    D.LOCKED_DOWN: "The host is locked down: nothing runs until a person at a terminal lifts it.",
    D.CONTACT_UNKNOWN: "No contact has this agent id and an address: `sayso exec contacts add`.",
    D.UNREACHABLE: "Cannot connect to the contact's address. Nothing was sent.",
    D.FINGERPRINT_MISMATCH: (
        "The certificate does not match the contact's fingerprint. Nothing was sent. Compare with "
        "`sayso exec identity` on the host."
    ),
}

N = Notice
_NOTICES = {
    N.STDOUT_LARGE: "Standard output exceeded the host's warn_stdout_bytes.",
    N.STDERR_LARGE: "Standard error exceeded the host's warn_stderr_bytes.",
    N.DURATION_LONG: "It took longer than the host's warn_duration_secs.",
    N.TIMED_OUT: "It timed out. Raise --timeout, or the host's max_duration_secs.",
    N.CANCELLED: "It was cancelled.",
    N.LEASE_EXPIRED: "The host ended it because it lost contact with this client. Retry.",
    N.HOST_STOPPING: "The host was stopped and ended it. Retry when it is back.",
    N.END_UNSEEN: "The exit status is unknown. Check on the host before you retry.",
    N.AUDIT_INCOMPLETE: "It ran, but the host's exec log lacks an entry. Check the host's disk.",
    N.CONNECTION_LOST: "The connection was lost. It may have run: check before you retry.",
    N.ANSWER_TRIMMED: "The output was truncated. exec.remote.output has the rest for five minutes.",
}
