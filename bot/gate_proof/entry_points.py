"""Define an entry point: its name, and how a marked command is sent through it."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Protocol

from core.errors import SaysoError
from core.gate.guards.marks import SESSION, Mark


class ProofAnswer(StrEnum):
    """What an entry point answered to a marked command, according to its own text."""

    HELD = "held"
    RAN = "ran"


ORDER = ("socket", "chat", "tool", "rest", "websocket", "remote")
"""The kinds of entry points, in the order of all lists; a name begins with its kind."""


def in_order(names: Iterable[str]) -> list[str]:
    """Return names of entry points, in the order of all lists; unknown kinds come last."""
    known = {kind: place for place, kind in enumerate(ORDER)}
    return sorted(names, key=lambda name: (known.get(name.split(" ")[0], len(ORDER)), name))


class EntryPoint(Protocol):
    """One place at which requests arrive. The part that serves one adds it to the prover."""

    @property
    def name(self) -> str:
        """Return its name, as health and lockdown show it: ``socket``, ``chat``, ``http``."""

    async def submit(self, mark: Mark) -> ProofAnswer:
        """Send the marked command as a client of this entry point would, and read the answer.

        It may be cancelled at any time, and then closes what it opened.

        Raises:
            SaysoError: there was no answer, or not one that it gives.
            OSError: it cannot be reached.
        """


_ANSWERS = {
    "denied": ProofAnswer.HELD,
    "pending": ProofAnswer.HELD,
    "finished": ProofAnswer.RAN,
    "running": ProofAnswer.RAN,
    "unknown": ProofAnswer.RAN,
}


def params_of(mark: Mark) -> dict[str, object]:
    """Return the params of ``exec.run`` for a marked command; they do not wait."""
    return {
        "argv": list(mark.argv),
        "cwd": "/",
        "session": SESSION,
        "ask": "always",
        "wait": False,
    }


def read_answer(result: object) -> ProofAnswer:
    """Read what ``exec.run`` answered: an object with a ``status``.

    Raises:
        SaysoError: it is not such an object.
    """
    status = result.get("status") if isinstance(result, Mapping) else None
    answer = _ANSWERS.get(str(status))
    if answer is None:
        raise SaysoError("the answer is not the status of a run")
    return answer
