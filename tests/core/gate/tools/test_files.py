"""Find the program and the folder of a call granted and present, or say why not."""

from pathlib import Path

import pytest

from core.gate.tools.files import folder_fault, home_of, program_fault
from core.gate.tools.protocol import ToolError
from core.policy.rules.capabilities import Capabilities


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Return a folder with a file, a folder, and links to what is outside."""
    made = tmp_path / "work"
    (made / "sub").mkdir(parents=True)
    (made / "file").touch()
    (made / "out").symlink_to("/etc")
    (made / "passwd").symlink_to("/etc/passwd")
    return made


@pytest.mark.parametrize(
    ("name", "as_folder", "as_program"),
    [
        ("sub", None, ToolError.INVALID_ARGS),
        ("file", ToolError.INVALID_ARGS, None),
        ("absent", ToolError.INVALID_ARGS, ToolError.INVALID_ARGS),
        ("out", ToolError.FS_DENIED, ToolError.FS_DENIED),
        ("passwd", ToolError.FS_DENIED, ToolError.FS_DENIED),
        ("../absent", ToolError.FS_DENIED, ToolError.FS_DENIED),
    ],
)
def test_what_is_named_is_granted_and_of_its_kind(
    work: Path, name: str, as_folder: ToolError | None, as_program: ToolError | None
) -> None:
    """Nothing is revealed about what is out of reach, not even whether it exists."""
    granted = Capabilities(frozenset(("Exec",)), (str(work),), ())
    path = f"{work}/{name}"

    folder, program = folder_fault(path, granted), program_fault(path, granted)

    assert (folder and folder.error, program and program.error) == (as_folder, as_program)


def test_a_call_without_a_folder_works_in_the_first_that_is_there(work: Path) -> None:
    """A writable one before a readable one, and never one that was not granted."""
    read, written, absent = str(work), str(work / "sub"), str(work / "absent")

    assert home_of(Capabilities(frozenset(), (read,), (absent, written))) == written
    assert home_of(Capabilities(frozenset(), (absent, read), ())) == read
    assert home_of(Capabilities(frozenset(), (absent,), ())) is None
