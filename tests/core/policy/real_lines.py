"""Judge command lines that a real coding agent ran under the shipped example policy.

The lines are distinct, their paths made neutral; ``harmless`` was set by a rule on the text.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.settings import Settings
from core.model.command import PinnedFile
from core.model.decision import Decision
from core.policy.rules.compiled import Provisions, compiled
from tests.core.policy.developer import Planned, verdict
from tests.support.plans import corpus, in_usr_bin

ARGUABLE = {
    "real-0105": "find -delete removes files, which cannot be undone",
    "real-0117": "find -delete removes files, which cannot be undone",
    "real-0330": "find -delete removes files, which cannot be undone",
    "real-0215": "gh run download writes files that come from the network",
    "real-0270": "it starts a server in the background",
    "real-0449": "gh --web starts a browser",
    "real-0471": "it starts a server through a shell, with variables of its own",
    "real-0519": "xargs gives ps options that nobody knows; `ps e` shows environments",
}
"""Lines marked harmless that are deliberately not allowed, each with the reason."""
# A command whose program is none of these is not installed, and its line does not count.
PROGRAMS = frozenset(
    """
    [ awk bash basename cat chmod cmp comm cp curl cut date df diff dirname docker du echo env expr
    false file find free gh git grep head hexdump hostname id java jq kill kubectl ln ls lsof make
    md5sum mkdir mv netstat nohup node npm npx od pgrep pip pip3 pkill printf ps pstree pwd python
    python3 readlink realpath rm rmdir sed seq sh sha256sum sleep sort sqlite3 stat strings tail
    tee test timeout top touch tr tree true uname uniq uptime wc which whoami xargs xxd
    """.split()  # noqa: SIM905 - a word list is easier to read than a column
)
_HOME, _APP = "/home/dev", "/home/dev/projects/app"
_GLOB = re.compile(r"""(?<!\S)(?!["'-])[^\s"';|&<>$`{}]*[*?][^\s"';|&<>$`{}]*""")
_FOLDER = re.compile(r'(?:^|&& *|; *)cd +"?([^ ;&|"]+)"?')
_NOT_COUNTED = re.compile(r"matches nothing|is not a folder")


@dataclass(frozen=True, slots=True)
class RealLine:
    """One counted line; ``why`` it is not allowed, empty if it is."""

    entry: dict[str, Any]
    why: str


def judged_lines(
    settings: Settings, home: Path, provisions: Provisions | None = None
) -> list[RealLine]:
    """Judge each line whose programs exist, below ``home``; what globs match is made first.

    Without ``provisions``, those of the settings count.
    """
    app = home / "projects" / "app"
    app.mkdir(parents=True, exist_ok=True)
    held = compiled(settings, str(home)).everyone if provisions is None else provisions
    entries = [
        {**one, "command": one["line"].replace(_APP, str(app)).replace(_HOME, str(home))}
        for one in corpus("real_lines.json")
    ]
    for entry in entries:
        _prepare(entry["command"], home, app)
    planned = Planned(settings, held, app, _installed)
    found = ((entry, verdict(entry, planned)) for entry in entries)
    return [
        RealLine(entry, "" if one.decision is Decision.ALLOW else one.why)
        for entry, one in found
        if not _missing(one.why)
    ]


def _installed(name: str) -> PinnedFile | None:
    return in_usr_bin(name) if name.rpartition("/")[2] in PROGRAMS and "/" not in name else None


def _missing(why: str) -> bool:
    return why.startswith("A program cannot be run") or _NOT_COUNTED.search(why) is not None


def _prepare(line: str, home: Path, app: Path) -> None:
    """Make the folders that a line enters, and a file for each of its patterns."""
    base = app
    for folder in _FOLDER.findall(line):
        base = app / folder
        if Path(os.path.normpath(base)).is_relative_to(home):
            base.mkdir(parents=True, exist_ok=True)
    for word in _GLOB.findall(line):
        name = re.sub(r"[\[\]]", "", word).replace("*", "x").replace("?", "x")
        path = base / name.replace("~", str(home), 1)
        if path.is_relative_to(home) and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x", encoding="utf-8")
