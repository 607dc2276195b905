"""Change exec-approvals.json from several processes and an editor; no one's line is lost."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import core
from core.approvals.file.file import ApprovalsFile
from core.files.file_identity import FileIdentity
from core.files.private import replace_private
from core.model.identity import AgentId

ROOT = Path(core.__file__).parents[1]
PROCESSES = 4
EACH = 25
SCRIPT = """
import contextlib, sys
from pathlib import Path
from core.approvals.file.file import ApprovalsFile

class Unguarded(ApprovalsFile):
    @contextlib.contextmanager
    def _lock(self):
        yield
    def _unchanged(self, seen):
        return True

path, name, count, guard = sys.argv[1:]
file = (Unguarded if guard == "unguarded" else ApprovalsFile)(Path(path))
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(count)):
    file.add("main", f"/opt/{name}/{number}")
"""


def add_at_once(path: Path, guard: str) -> set[str]:
    """Let four processes add 25 patterns each at the same time; return the file's content."""
    command = [sys.executable, "-c", SCRIPT, str(path)]
    with contextlib.ExitStack() as stack:
        adders = [
            stack.enter_context(
                subprocess.Popen(
                    [*command, str(number), str(EACH), guard],
                    cwd=ROOT,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
            )
            for number in range(PROCESSES)
        ]
        for adder in adders:
            assert adder.stdout is not None
            adder.stdout.readline()
        for adder in adders:
            assert adder.stdin is not None
            adder.stdin.write(b"\n")
            adder.stdin.flush()
        codes = [adder.wait() for adder in adders]
    assert codes == [0] * PROCESSES
    return {entry.pattern for entry in ApprovalsFile(path).entries(AgentId("main"))}


def test_processes_that_add_at_once_lose_nothing(tmp_path: Path) -> None:
    """A hundred additions from four processes leave a hundred entries."""
    found = add_at_once(tmp_path / "exec-approvals.json", "guarded")
    assert found == {f"/opt/{p}/{n}" for p in range(PROCESSES) for n in range(EACH)}


def test_without_the_lock_the_checker_fails(tmp_path: Path) -> None:
    """Negative control: without lock and comparison, additions are lost."""
    kept = (
        len(add_at_once(tmp_path / f"{turn}.json", "unguarded"))
        for turn in range(5)  # if the processes happen to come one after the other
    )
    assert any(count < PROCESSES * EACH for count in kept)


class Edited(ApprovalsFile):
    """An approvals file whose editor saves just before our replacement, three times."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.edits = 0
        self.path = path

    def _unchanged(self, seen: FileIdentity | None) -> bool:
        if self.edits < 3:
            self.edits += 1
            text = json.loads(self.path.read_text())
            text[f"edit-{self.edits}"] = "by hand"
            replace_private(self.path, json.dumps(text).encode())
        return self.compare(seen)

    def compare(self, seen: FileIdentity | None) -> bool:
        """Compare as the product does."""
        return super()._unchanged(seen)


class Unguarded(Edited):
    """The same without the comparison."""

    def compare(self, seen: FileIdentity | None) -> bool:
        """Skip the comparison."""
        return True


def save_under(file: Edited) -> dict[str, object]:
    """Add a pattern while the editor saves; return the file's JSON."""
    file.path.touch(mode=0o600)
    file.path.write_text('{"version": 1}')
    file.add("main", "/usr/bin/rg")
    text: dict[str, object] = json.loads(file.path.read_text())
    return text


def test_an_editor_that_saves_meanwhile_loses_nothing(tmp_path: Path) -> None:
    """The file is read again until no one wrote between reading and replacing."""
    text = save_under(Edited(tmp_path / "exec-approvals.json"))
    assert {"edit-1", "edit-2", "edit-3", "agents"} <= set(text)


def test_without_the_comparison_the_checker_fails(tmp_path: Path) -> None:
    """Negative control: the editor's text would be overwritten."""
    assert "edit-1" not in save_under(Unguarded(tmp_path / "exec-approvals.json"))


def rewrites(path: Path) -> Iterator[str]:
    """Rewrite the file in place, with equal length, 300 times as fast as possible."""
    path.touch(mode=0o600)
    for turn in range(300):
        word = ("deny", "full")[turn % 2]
        path.write_text(json.dumps({"version": 1, "defaults": {"security": word}}))
        yield word


def test_no_rewrite_within_a_clock_tick_is_missed(tmp_path: Path) -> None:
    """Equal size and equal times do not hide a hand edit from a gateway that reads constantly."""
    path = tmp_path / "exec-approvals.json"
    file = ApprovalsFile(path)
    for word in rewrites(path):
        assert file.layer(AgentId("main")).security == word
