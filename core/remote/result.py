"""Define how a remote run ended, in the form of S4's answer."""

from dataclasses import dataclass

from core.remote.denials import Notice, RemoteDenial


@dataclass(frozen=True, slots=True)
class RemoteResult:
    """The terminal result of one request: denied, ended, or lost.

    ``stdout`` and ``stderr`` are what was forwarded, the totals (bytes) what was printed. Without
    code, signal and ``denial_reason``, the end was not seen here.
    """

    request_id: str
    code: int | None = None
    signal: int | None = None
    duration_ms: int = 0
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_bytes_total: int = 0
    stderr_bytes_total: int = 0
    truncated: bool = False
    denial_reason: RemoteDenial | None = None
    warnings: tuple[Notice, ...] = ()

    @property
    def ok(self) -> bool:
        """Return whether the command ran and ended with code 0."""
        return self.code == 0
