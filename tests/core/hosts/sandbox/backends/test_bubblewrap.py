"""Bind the workspace of a run by a descriptor or by its path, and compare it where bwrap does not.

Only the words are made here; ``tests/faults/test_sandbox_workspace.py`` swaps folders for real.
"""

import os
from pathlib import Path

import pytest

from core.hosts.sandbox.backends.bubblewrap import Bubblewrap, Enclosed
from core.hosts.sandbox.filesystem.layout import Places
from core.hosts.sandbox.filesystem.mounts import Kind
from core.model.identity import ApprovalId
from tests.support.sandbox import sandboxed, wished

COMPARES = "--bind-fd, and Race condition binding dirfd"
"""What the binary of a bubblewrap contains that compares a descriptor itself."""
WORKSPACE_FD = "5"


def made(
    folder: Path, *, compares: bool = False, shown: bool = False, workspace: bool = True
) -> tuple[list[str], tuple[str, ...]]:
    """Return the options of a run in a folder, and the words before its command.

    ``shown``: the folder can be seen without being mounted as the workspace.
    """
    folder.chmod(0o700)
    binary = folder.parent / "bwrap"
    binary.write_text(COMPARES if compares else "--bind")
    outside = ((str(folder.parent), Kind.SHOWN),) if shown else ()
    places = Places(outside, (), workspace=str(folder) if workspace else None)
    backend = Bubblewrap(str(binary), places, network=False)
    plan = sandboxed(wished("id", folder if workspace else Path("/")))
    with backend.enclose(ApprovalId("0run"), plan, folder.parent / "scratch") as enclosure:
        assert isinstance(enclosure, Enclosed)
        options = os.pread(enclosure.inherit[1], 1 << 16, 0).decode().split("\0")
        return options, enclosure.guard


@pytest.mark.parametrize(
    ("compares", "shown", "option", "guarded"),
    [
        (True, False, "--bind-fd", ""),
        (True, True, "--bind", "seen"),
        (False, False, "--bind", "hidden"),
        (False, True, "--bind", "seen"),
    ],
)
def test_a_workspace_is_compared_once(
    tmp_path: Path, *, compares: bool, shown: bool, option: str, guarded: str
) -> None:
    """By a bubblewrap that can, if it alone shows the folder; else by a shell, which knows that."""
    folder = tmp_path / "work"
    folder.mkdir()
    options, guard = made(folder, compares=compares, shown=shown)

    source = WORKSPACE_FD if option == "--bind-fd" else str(folder)
    assert (option, source, str(folder)) in zip(options, options[1:], options[2:], strict=False)
    assert guard[3:] == ((str(folder), guarded) if guarded else ())


@pytest.mark.parametrize("compares", [True, False])
def test_without_a_workspace_nothing_is_bound_or_compared(tmp_path: Path, compares: bool) -> None:
    """There is nothing that could be changed."""
    options, guard = made(tmp_path, compares=compares, workspace=False)

    assert {"--bind", "--bind-fd"}.isdisjoint(options)
    assert guard == ()
