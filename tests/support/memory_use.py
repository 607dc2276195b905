"""Measure how much memory a process used."""

import re
from pathlib import Path


def peak_kb(pid: int) -> int:
    """Return the peak resident memory of a living process, in KiB; 0 if it is gone."""
    return _kb(pid, "VmHWM")


def resident_kb(pid: int) -> int:
    """Return the resident memory of a living process, in KiB; 0 if it is gone."""
    return _kb(pid, "VmRSS")


def _kb(pid: int, name: str) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(rf"{name}:\s+(\d+) kB", status)
    return int(found[1]) if found else 0
