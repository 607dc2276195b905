"""Hold the program and the folder of a call to the agent's file grants, then inspect them (S3).

The grants come first: what an agent may not read, it cannot find out about either. Links are
followed before anything is compared, and the planner binds what it finds; a file that changes
after this check is caught there (``plan_drift``).
"""

import os
from pathlib import Path

from core.gate.tools.protocol import ToolError, ToolRefused
from core.planning.paths.pins import real_parent
from core.policy.rules.capabilities import Capabilities


def program_fault(path: str, granted: Capabilities) -> ToolRefused | None:
    """Return why a program may not be named, ``None`` if it may: granted, and a regular file."""
    if not all(map(granted.may_read, (os.path.realpath(real_parent(path)), real_parent(path)))):
        return _outside("argv[0]", path)
    if not Path(path).is_file():
        return ToolRefused(
            ToolError.INVALID_ARGS, f"argv[0] {path!a} does not exist or is not a file"
        )
    return None


def folder_fault(path: str, granted: Capabilities) -> ToolRefused | None:
    """Return why a folder may not be worked in, ``None`` if it may: granted, and a directory."""
    if not granted.may_read(os.path.realpath(path)):
        return _outside("cwd", path)
    if not Path(path).is_dir():
        return ToolRefused(
            ToolError.INVALID_ARGS, f"cwd {path!a} does not exist or is not a directory"
        )
    return None


def home_of(granted: Capabilities) -> str | None:
    """Return the folder that a call without ``cwd`` works in: the first granted one that exists.

    Folders granted for writing come first. Never the gateway's own folder, which no agent chose.
    """
    folders = (*granted.write, *granted.read)
    return next((folder for folder in folders if Path(folder).is_dir()), None)


def _outside(what: str, path: str) -> ToolRefused:
    why = f"{what} {path!a} is outside the folders that the agent was granted for reading"
    return ToolRefused(ToolError.FS_DENIED, why)
