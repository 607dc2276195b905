"""Recognise commands that load their code again whenever it changes: `uvicorn x:app --reload`."""

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from core.model.command import PlannedCommand
from core.planning.code.words.arguments import before_script
from core.planning.code.words.interpreters import Interpreter, interpreter_of

_RELOADS: Final = re.compile(
    r"--(?:auto-?)?reload(?:=.*)?|--watch(?:-path)?(?:=.*)?|--hot|--debug|watch|dev"
)
_SERVERS: Final = re.compile(
    r"uvicorn|hypercorn|gunicorn|granian|flask|quart|sanic|litestar|fastapi|node|nodejs|bun|deno|tsx"
)
_ALWAYS: Final = re.compile(r"nodemon|node-dev|ts-node-dev|tsnd|streamlit")
_MOST_READ: Final = 64
"""Words of a command that are looked at."""


def reloads(command: PlannedCommand) -> bool:
    """Return whether any program that a command starts loads what changed while it runs."""
    return any(_reloads(one.argv) for one in command.effective)


def _reloads(argv: Sequence[str]) -> bool:
    reader = interpreter_of(argv[0])
    own = before_script(reader, argv[1:]) if isinstance(reader, Interpreter) else argv[1:]
    words = (argv[0].rpartition("/")[2], *islice(own, _MOST_READ))
    if any(map(_ALWAYS.fullmatch, words)):
        return True
    return any(map(_SERVERS.fullmatch, words)) and any(map(_RELOADS.fullmatch, words))
