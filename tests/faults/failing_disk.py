"""Run a gateway whose disk can fail: writes below a folder then end in EIO.

The kernels that this suite runs on have no device-mapper and no fault injection, so the fault is
injected between the program and the C library (``failing_disk.c``): every call that would write to
the disk fails as it would in the kernel, and reads are answered from memory.
"""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_SOURCE = Path(__file__).with_name("failing_disk.c")


@dataclass(frozen=True, slots=True)
class FailingDisk:
    """A folder whose files cannot be written while ``failing`` lasts."""

    folder: Path
    library: Path
    switch: Path

    def environ(self) -> dict[str, str]:
        """Return the environment that puts a program on this disk."""
        return {
            "LD_PRELOAD": str(self.library),
            "FAILING_FOLDER": f"{self.folder}/",
            "FAILING_SWITCH": str(self.switch),
        }

    @contextmanager
    def failing(self, how: str = "all") -> Iterator[None]:
        """Make the disk fail inside the block; ``sync``: only calls that wait for it."""
        self.switch.with_suffix(".new").write_text(how)
        self.switch.with_suffix(".new").rename(self.switch)
        try:
            yield
        finally:
            self.switch.unlink()

    def fail_for(self, seconds: float, how: str = "all") -> None:
        """Make the disk fail for some seconds."""
        with self.failing(how):
            time.sleep(seconds)


def failing_disk(folder: Path, apart: Path) -> FailingDisk:
    """Turn a folder into a disk that can fail; ``apart`` is a folder that is not on it."""
    library = apart / "failing_disk.so"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O1", "-o", str(library), str(_SOURCE), "-ldl"], check=True
    )
    return FailingDisk(folder, library, apart / "switch")
