"""Find out whether a shell would find ``sayso``, so that messages name commands that work."""

import os
import shutil
import sys
from pathlib import Path
from shlex import quote


def first_export(started: str | None = None, path: str | None = None) -> str:
    """Return the line to type before ``sayso`` is found as it was started, empty if it is found.

    ``make demo`` and ``.venv/bin/sayso`` start it by its path.
    """
    program = Path(sys.argv[0] if started is None else started).absolute()
    found = shutil.which("sayso", path=os.environ.get("PATH", "") if path is None else path)
    if program.name != "sayso" or (found is not None and Path(found).samefile(program)):
        return ""
    return f"export PATH={quote(str(program.parent))}:$PATH"
