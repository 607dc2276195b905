"""Write the sudo rule by which the gateway's user may start executors, and nothing else."""

import os
from pathlib import Path

from bot.service.own_program import ran
from core.errors import StateError
from core.isolation.process import EXECUTOR

GROUP = "sayso_exec"
PATH = Path("/etc/sudoers.d/sayso")
_MODE = 0o440
_VISUDO = "/usr/sbin/visudo"


def rule(gateway_user: str, executor: str = EXECUTOR) -> str:
    """Return the content of the file.

    It names a group, since sudo has no wildcards for the target user; ``""`` allows no argument.
    Neither a terminal nor a PAM session is created: nobody logs in.
    """
    return (
        "# Written by `sayso executor setup`; `sayso executor undo` removes it.\n"
        f"Defaults!{executor} !requiretty, env_reset, !use_pty, !pam_session, !pam_setcred\n"
        f'{gateway_user} ALL=(%{GROUP}) NOPASSWD: {executor} ""\n'
    )


def is_written(text: str, path: Path = PATH) -> bool:
    """Return whether the rule exists, is root's, and is closed to others."""
    try:
        found = path.stat()
        return path.read_text() == text and (found.st_uid, found.st_mode & 0o777) == (0, _MODE)
    except (OSError, UnicodeDecodeError):
        return False


def write(text: str, path: Path = PATH) -> None:
    """Write the rule if visudo accepts it; otherwise the old one stays.

    Raises:
        StateError: sudo would not accept it, or all of its rules together with it.
    """
    path.parent.mkdir(mode=0o750, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")  # sudo skips names with a dot
    fresh.unlink(missing_ok=True)
    try:
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE)
        with os.fdopen(fd, "w") as file:
            file.write(text)
            os.fchmod(fd, _MODE)
        _see_accepted(str(fresh))
        before = path.read_bytes() if path.exists() else None
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
    try:
        _see_accepted("")
    except StateError:
        _put_back(path, before)
        raise


def _put_back(path: Path, before: bytes | None) -> None:
    if before is None:
        path.unlink()
    else:
        path.chmod(0o600)
        path.write_bytes(before)
        path.chmod(_MODE)


def _see_accepted(path: str) -> None:
    words = (_VISUDO, "--check", *(("--file", path) if path else ()))
    done = ran(words)
    if not done.well:
        raise StateError(f"visudo does not accept the sudo rule: {' '.join(done.text.split())}")
