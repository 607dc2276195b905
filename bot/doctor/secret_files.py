"""Check the files that hold secrets: where they are, and which users can read them."""

import stat
from collections.abc import Iterator
from pathlib import Path

from bot.health.check import Finding, Verdict
from bot.settings import Reading

_OTHERS = stat.S_IRGRP | stat.S_IROTH
_ENTER = stat.S_IXGRP | stat.S_IXOTH


def secret_files(reading: Reading) -> Iterator[Finding]:
    """Report each secret file in the settings; one that others can read fails."""
    for key, path in sorted(_files(reading).items()):
        yield _finding(f"secret {key}", path)


def exposed(reading: Reading) -> Iterator[str]:
    """Yield a warning for each secret file that others can read, in the doctor's words."""
    for key, path in sorted(_files(reading).items()):
        if wrong := fault_of(path):
            yield f"secret {key}: {wrong}"


def fault_of(path: Path) -> str:
    """Return who else can read a secret file, and what to do; empty if nobody can."""
    found = _finding("", path)
    return "" if found.ok else found.detail


def _files(reading: Reading) -> dict[str, Path]:
    files = dict(reading.secret_files)
    tls = reading.settings.http.tls
    if reading.settings.http.enabled and tls is not None:
        files["http.tls.key"] = reading.settings.home / tls.key
    return files


def _finding(subject: str, path: Path) -> Finding:
    try:
        target = path.resolve(strict=True)
        mode, folder = target.stat().st_mode, target.parent.stat().st_mode
    except OSError as error:
        why = f"{path} cannot be read: {error.strerror}; create it, or fix the setting"
        return Finding(Verdict.FAIL, subject, why)
    if not stat.S_ISREG(mode):
        return Finding(Verdict.FAIL, subject, f"{target} is not a file; fix the setting")
    shown = f"{path}" if target == path.absolute() else f"{path}, which leads to {target},"
    bits = f"mode {stat.S_IMODE(mode):o}"
    if not mode & _OTHERS:
        return Finding(Verdict.OK, subject, f"{shown} is readable by its owner alone ({bits})")
    if not folder & _ENTER:
        why = f"{shown} is reached by its owner alone ({bits} in a folder of mode 700)"
        return Finding(Verdict.OK, subject, why)
    why = f"{shown} can be read by other users ({bits}); run: chmod 600 '{target}'"
    return Finding(Verdict.FAIL, subject, why)
