"""Recognise files that a program makes for its next start: `terraform plan -out=p`, then `apply p`.

Such a file contains what the program was given, and nobody could have seen it before.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from os.path import normpath
from typing import Final

from core.model.command import PinnedFile, PlannedCommand

_MAKES: Final = re.compile(r"terraform|tofu")
_OUTPUT: Final = re.compile(r"--?out(?:=(.+))?", re.DOTALL)
_LEADING: Final = re.compile(r"\A(?:\.{0,2}/)+")


def written_by(program: PinnedFile, earlier: Sequence[PlannedCommand], path: str) -> bool:
    """Return whether an earlier start of the same program writes the file ``path``.

    Another command that names the file after that may have replaced it.
    """
    name = path.rpartition("/")[2]
    if not _MAKES.fullmatch(program.path.rpartition("/")[2]):
        return False
    for leaf in (leaf for one in reversed(earlier) for leaf in reversed(one.effective)):
        if leaf.executable != program:
            if any(name in word for word in leaf.argv):
                return False
        elif any(path.endswith(f"/{one}") for one in _outputs(leaf.argv)):
            return True
    return False


def _outputs(argv: Sequence[str]) -> Iterator[str]:
    """Yield the paths that a plan is written to, without what leads up from a folder."""
    for word, following in pairwise((*argv, "")):
        option = _OUTPUT.fullmatch(word)
        if option is not None:
            yield _LEADING.sub("", normpath(option[1] or following))
