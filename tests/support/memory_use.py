"""Measure how much memory a process took."""

import re
from pathlib import Path


def peak_kb(pid: int) -> int:
    """Return the most memory that a living process has had resident, in KiB; 0 if it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) if found else 0
