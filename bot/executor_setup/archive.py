"""Pack the executor into one file that the system's Python runs.

The modules are stored as they are, next to their compiled form: a zip file from which Python
imports without unpacking. Equal sources make equal files, so that files can be compared.
"""

import hashlib
import io
import os
import py_compile
import re
import stat
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from core.errors import HostUnavailable

_ROOT = Path(__file__).parents[2]
_SINGLE = (
    "bot/__init__.py",
    "core/__init__.py",
    "core/files/__init__.py",
    "core/files/file_identity.py",
    "core/files/removal.py",
    "core/isolation/__init__.py",
    "core/isolation/wire.py",
    "core/runner/__init__.py",
    "core/runner/remains.py",
    "core/runner/tcp_peer.py",
    "core/shell/__init__.py",
    "core/shell/placeholders.py",
)
_WHOLE = ("bot/executor", "core/runner/supervisor")
_MAIN = "from bot.executor.main import main\nmain({!r})\n"
_DATE = (1980, 1, 1, 0, 0, 0)
_NEWEST_FIRST = ("/usr/bin/python3", "/usr/local/bin/python3")
_NAME = re.compile(r"python3\.(\d+)")
_OLDEST = 11
_OPTIONS = "-ISXutf8"
"""Isolated, without site; a `#!` line passes one argument."""


def modules() -> Iterator[tuple[str, bytes]]:
    """Yield the executor's modules, with their paths in the file."""
    for name in _SINGLE:
        yield name, (_ROOT / name).read_bytes()
    for folder in _WHOLE:
        for path in sorted((_ROOT / folder).rglob("*.py")):
            yield path.relative_to(_ROOT).as_posix(), path.read_bytes()


def build_id() -> str:
    """Return the id of this version of the executor: the SHA-256 of its sources, shortened."""
    whole = hashlib.sha256()
    for name, source in modules():
        whole.update(f"{name}\0{len(source)}\0".encode() + source)
    return whole.hexdigest()[:16]


def archive(python: str) -> bytes:
    """Return the file's content, to be run by this interpreter."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file, tempfile.TemporaryDirectory() as scratch:
        for name, source in (("__main__.py", _MAIN.format(build_id()).encode()), *modules()):
            file.writestr(zipfile.ZipInfo(name, _DATE), source)
            compiled = _compiled(name, source, Path(scratch) / "module.py")
            file.writestr(zipfile.ZipInfo(f"{name}c", _DATE), compiled)
    return f"#!{python} {_OPTIONS}\n".encode() + packed.getvalue()


def _compiled(name: str, source: bytes, scratch: Path) -> bytes:
    scratch.write_bytes(source)
    to = str(scratch.with_suffix(".pyc"))
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(scratch), to, dfile=name, doraise=True, invalidation_mode=mode)
    return Path(to).read_bytes()


def interpreter() -> str:
    """Return a Python that is owned by root and that everybody may run.

    Raises:
        HostUnavailable: there is none in a version that Sayso needs.
    """
    for path in (os.path.realpath(sys.executable), *_NEWEST_FIRST):
        real = os.path.realpath(path)
        found = _NAME.fullmatch(os.path.basename(real))  # noqa: PTH119 - text
        if found and int(found[1]) >= _OLDEST and not exposed(real) and _open_to_all(real):
            return real
    raise HostUnavailable(
        "There is no Python 3.11 or newer that root owns and everybody may run, "
        "so there can be no executor; install python3."
    )


def exposed(path: str) -> str:
    """Return the file, or the folder above it, that others than root could change, or ``""``."""
    place = Path(path)
    for one in (place, *place.parents):
        found = one.stat()
        sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
        if found.st_uid != 0 or (found.st_mode & 0o022 and not sticky):
            return str(one)
    return ""


def _open_to_all(path: str) -> bool:
    return all(one.stat().st_mode & 0o001 for one in (Path(path), *Path(path).parents))
