"""Check whether executors can run here: the checks of `sayso doctor executor`."""

import asyncio
import os
import pwd
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from bot.executor_setup import accounts, closed_python, sudoers
from bot.executor_setup.archive import archive, build_id, exposed, interpreter
from bot.health.check import Finding, Verdict
from bot.settings import Settings
from core.errors import SaysoError
from core.ipc.peer import peer_of
from core.isolation.call_audit import CallAudit
from core.isolation.containment import delegated
from core.isolation.pool import ExecutorPool
from core.isolation.process import EXECUTOR, INTERPRETER, SUDO
from core.isolation.tokens import SessionTokens
from core.isolation.upkeep import Options

_SETUP = "run `sudo sayso executor setup`"
_OPEN = (
    "its executors are open to other processes of the user while they start; "
    "set fs.suid_dumpable to 0 (sysctl)"
)


class _Nowhere:
    """The journal of a check: its calls belong to no request."""

    async def append(self, kind: str, record: dict[str, object]) -> None:
        """Keep nothing."""


def executors(settings: Settings) -> Iterator[Finding]:
    """Yield each check, with what to do if it does not end well."""
    on = settings.execution.run_as_unix_user
    words = "is on" if on else "is off: commands of the host gateway run as the gateway's own user"
    yield Finding(Verdict.OK if on else Verdict.WARN, "execution.runAsUnixUser", words)
    yield Finding.when(
        Path(SUDO).exists(),
        "sudo",
        f"{SUDO} is there" if Path(SUDO).exists() else f"{SUDO} is missing; install sudo",
    )
    yield _executor()
    there = accounts.is_group()
    yield Finding.when(there, sudoers.GROUP, "exists" if there else f"does not exist; {_SETUP}")
    yield _no_new_privileges()
    yield _home(settings)
    yield _containment(settings)
    for user in users_of(settings):
        yield from _user(user, settings)


def users_of(settings: Settings) -> tuple[str, ...]:
    """Return the users that commands may run as."""
    section = settings.execution
    named = (section.executor_unix_user, *(entry.user for entry in section.users))
    return tuple(dict.fromkeys(named))


def _executor() -> Finding:
    path = Path(EXECUTOR)
    try:
        same = path.read_bytes() == archive(INTERPRETER)
        changeable = exposed(EXECUTOR)
        copied = closed_python.is_copied(interpreter())
    except (OSError, SaysoError) as failure:
        return Finding(Verdict.FAIL, "executor", f"{EXECUTOR} cannot be read ({failure}); {_SETUP}")
    if changeable:
        why = f"{changeable} can be changed by users other than root"
        return Finding(Verdict.FAIL, "executor", why)
    if not same:
        return Finding(Verdict.FAIL, "executor", f"{EXECUTOR} is of another version; {_SETUP}")
    if not copied:
        why = f"{INTERPRETER} is not a closed copy of {interpreter()} as it is now; {_SETUP}"
        return Finding(Verdict.FAIL, "executor", why)
    return Finding(Verdict.OK, "executor", f"{EXECUTOR} is this version, and root's")


def _no_new_privileges() -> Finding:
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    free = "\nNoNewPrivs:\t0\n" in status
    why = "is set, so sudo cannot change the user; install the service without --no-sudo"
    return Finding.when(free, "no_new_privs", "is not set" if free else why)


def _home(settings: Settings) -> Finding:
    closed = settings.home.stat().st_mode & 0o077 == 0
    why = f"is open to other users; chmod 700 {settings.home}"
    return Finding.when(closed, str(settings.home), "is closed to others" if closed else why)


def _containment(settings: Settings) -> Finding:
    """Report whether executors get cgroups: from the running gateway, or one started here."""
    pid = _gateway(settings)
    where = "the gateway" if pid is not None else "a gateway that is started here"
    if delegated(pid) is None:
        words = (
            f"none is delegated to {where}: what an executor leaves is found by its mark and its "
            "family (`sayso service install` delegates one)"
        )
        return Finding(Verdict.OK, "cgroup", words)
    return Finding(Verdict.OK, "cgroup", f"{where} makes one for each executor")


def _gateway(settings: Settings) -> int | None:
    """Return the gateway's process, ``None`` if none listens."""
    with socket.socket(socket.AF_UNIX) as sock:
        try:
            sock.connect(str(settings.home / "gateway.sock"))
        except OSError:
            return None
        return peer_of(sock).pid


def _user(user: str, settings: Settings) -> Iterator[Finding]:
    if not accounts.exists(user):
        add = f"does not exist; run `sudo sayso executor user add {user}`"
        yield Finding(Verdict.FAIL, user, add)
        return
    if pwd.getpwnam(user).pw_uid in {0, os.geteuid()}:
        yield Finding(Verdict.FAIL, user, "is root or the gateway's own user: nothing is isolated")
        return
    if user not in accounts.members():
        add = f"is not in {sudoers.GROUP}; run `sudo sayso executor user add {user}`"
        yield Finding(Verdict.FAIL, user, add)
        return
    if not accounts.is_closed(user):
        why = f"has a home that others may look into; chmod 700 {accounts.home_of(user)}"
        yield Finding(Verdict.WARN, user, why)
    yield asyncio.run(_started(user, settings))


async def _started(user: str, settings: Settings) -> Finding:
    """Start an executor as the gateway would, and check whose process answers."""
    timeout_s = settings.execution.ipc.connection_timeout_ms / 1000
    tokens = SessionTokens(1, 1, time.monotonic)
    options = Options(build_id(), connection_timeout_s=timeout_s)
    pool = ExecutorPool(options, tokens, CallAudit(_Nowhere()))
    began = time.monotonic()
    try:
        executor = await pool.take(user)
        took = (time.monotonic() - began) * 1000
        if not executor.closed:
            return Finding(Verdict.FAIL, user, _OPEN)
        return Finding(Verdict.OK, user, f"an executor answered after {took:.0f} ms")
    except SaysoError as failure:
        words = str(failure).removesuffix("; run `sayso doctor executor`")
        return Finding(Verdict.FAIL, user, f"{words}; {_SETUP} and name the gateway's user")
    finally:
        await pool.stop()
