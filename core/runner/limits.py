"""Limit what one run may use (S3 "RLIMIT enforced")."""

from dataclasses import dataclass

_FOR_EACH = 4
"""Of a file: one that is kept, two leases, and a copy."""

_FEW = 32


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits per process of a run, how many it may have at a time, and the patience with it.

    CPU in seconds: SIGXCPU at ``cpu_s``, SIGKILL at ``cpu_kill_s``. ``data_bytes`` is RLIMIT_DATA,
    because RLIMIT_AS ends Node and Go programs that merely reserve address space. ``grace_ms``
    is between TERM and KILL.
    """

    cpu_s: int = 60
    cpu_kill_s: int = 65
    data_bytes: int = 512 * 1024 * 1024
    file_bytes: int = 64 * 1024 * 1024
    open_files: int = 256
    grace_ms: int = 2_000
    processes: int = 512

    def pairs(self, cpu_s: int | None = None, bound: int = 0) -> dict[str, tuple[int, int]]:
        """Return (soft, hard) by the name that the supervisor knows; never a core dump.

        ``cpu_s`` replaces the configured CPU limit; KILL follows as much later. The supervisor is
        limited like its commands, and has several descriptors for each ``bound`` file: for many of
        these there are more.
        """
        own = self.cpu_s if cpu_s is None else cpu_s
        files = self.open_files + (_FOR_EACH * bound if bound > _FEW else 0)
        return {
            "cpu": (own, own + self.cpu_kill_s - self.cpu_s),
            "data": (self.data_bytes, self.data_bytes),
            "fsize": (self.file_bytes, self.file_bytes),
            "nofile": (files, files),
            "core": (0, 0),
        }
