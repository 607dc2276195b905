"""Run a gateway that does not inspect what is around a command.

A negative control of the oracles: lines that need an answer would run programs.
"""

import sys

from bot.cli import main
from core.planning import steering
from core.planning.git import repository


def _nothing(*_: object) -> str:
    return ""


if __name__ == "__main__":
    for module, name in (
        (repository, "steering"),
        (steering, "chosen_by"),
        (steering, "shadowed"),
    ):
        assert hasattr(module, name), name
        setattr(module, name, _nothing)
    sys.exit(main())
