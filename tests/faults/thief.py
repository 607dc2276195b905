"""Act as a thief: whenever a known `sleep` starts, replace what follows it.

A separate process: ``python thief.py BOOTY``. BOOTY is a JSON object that maps the argument of each
sleep, which is unique to its line, to a folder and the changes to make there. It prints one line
when it watches, and one for each sleep that it used.
"""

import json
import shutil
import sys
import time
from pathlib import Path


def change(kind: str, folder: Path) -> None:
    """Make one change in a line's folder."""
    outside = folder.parent / "outside"
    if kind == "config":
        shutil.copy(folder / "evilcfg", folder / ".git/config")
    elif kind == "link":
        put_link(outside, folder / "out")
    elif kind == "folder link":
        (folder / "dir").rename(folder / "old")
        put_link(outside.with_suffix(".d"), folder / "dir")
    elif kind == "module":
        put_copy(folder / "evil.py", folder / "x.py")
    else:
        put_copy(folder / "evil.sh", folder / kind)


def put_link(target: Path, path: Path) -> None:
    """Put a link at a path, replacing what is there."""
    new = path.with_name("new-link")
    new.symlink_to(target)
    new.replace(path)


def put_copy(source: Path, path: Path) -> None:
    """Rename a copy of a file over a path."""
    Path(shutil.copy(source, path.with_name("new-copy"))).replace(path)


def sleeps() -> set[str]:
    """Return the arguments of all sleeps that are running."""
    found = set()
    for process in Path("/proc").iterdir():  # not a glob: it fails on a process that has ended
        if not process.name.isdigit():
            continue
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if len(words) > 1 and words[0].endswith(b"sleep"):
            found.add(words[1].decode())
    return found


def main() -> None:
    """Watch until everything is swapped."""
    booty = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print("watching", flush=True)
    while booty:
        for pause in sleeps() & booty.keys():
            folder, kinds = booty.pop(pause)
            for kind in kinds:
                change(kind, Path(folder))
            print(pause, flush=True)
        time.sleep(0.004)


if __name__ == "__main__":
    main()
