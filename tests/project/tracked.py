"""List the files that belong to the repository: what git tracks, or would."""

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def files() -> tuple[Path, ...]:
    """Return the paths of all files that are tracked, or new and not ignored."""
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        capture_output=True,
        text=True,
        check=True,
    )
    paths = (ROOT / name for name in listed.stdout.split("\0") if name)
    return tuple(sorted(path for path in paths if path.is_file()))


def modules() -> tuple[Path, ...]:
    """Return the product's own Python modules."""
    tops = {"bot", "channels", "core"}
    return tuple(
        path for path in files() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in tops
    )
