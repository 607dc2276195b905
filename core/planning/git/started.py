"""Name the files that the value of a setting makes git start, as of a text that a shell reads."""

# ruff: noqa: PTH111
# pathlib is ten times slower here.

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from core.model.command import PinnedFile
from core.planning.code.files.named import reached_files
from core.planning.code.texts.reached import by_text
from core.planning.code.words.parts import fed_names
from core.planning.code.words.places import readings_of
from core.planning.git.config import Setting
from core.planning.git.received import receiving_hooks
from core.planning.paths.contents import digest_of, named_in
from core.planning.paths.pins import Unpinned, pin_file

_MOST_SHOWN: Final = 8
_MOST_READ: Final = 64
"""Values that are read as a shell would: it takes half a millisecond each."""


def commands_in(setting: Setting) -> str:
    """Return the parts of a setting that may be commands: `url.ext::sh x.insteadOf` has one."""
    return f"{setting.inner} {setting.value}" if setting.section == "url" else setting.value


@dataclass(slots=True)
class Started:
    """What values start; of those after the first ``left`` ones, only whole words are looked up."""

    left: int = _MOST_READ

    def by(self, value: str, roots: Iterable[str]) -> str:
        """Return clauses about the files that a value names or may start, in any of some folders.

        Raises:
            OSError: a lookup failed.
            HashingLimit: it would take too long.
        """
        self.left -= 1
        return _started_by(value, roots) if self.left >= 0 else named_in(value, roots)


def _started_by(value: str, roots: Iterable[str]) -> str:
    text = value.lstrip().removeprefix("!")
    home = os.path.expanduser("~")
    words: dict[str, None] = {}
    places: dict[str, None] = {}
    for read in (text, *(one[1] for one in readings_of(("git", text), home))):
        reached = by_text(read, {"HOME": home})
        words |= dict.fromkeys((*fed_names((read,), ()), *reached.files))
        places |= dict.fromkeys(reached.places)
    found: dict[str, PinnedFile] = {}
    for root in dict.fromkeys(roots):
        code = reached_files(words, root, places)
        if isinstance(code, Unpinned):
            return f" (it {code.why}){named_in(value, roots)}"
        found |= {one.path: one for one in code.files}
    hooks = map(pin_file, receiving_hooks(value, roots))
    found |= {one.path: one for one in hooks if isinstance(one, PinnedFile)}
    return "".join(_clauses(list(found.values())))


def _clauses(files: list[PinnedFile]) -> Iterator[str]:
    """Yield a clause for each of the first files, and one for what nobody would read."""
    yield from (f", `{one.path}` (SHA-256 {one.sha256})" for one in files[:_MOST_SHOWN])
    if more := files[_MOST_SHOWN:]:
        yield f", and {len(more)} more files (SHA-256 {digest_of(one.path for one in more)})"
