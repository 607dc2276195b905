"""Keep what platforms and terminal accepted as decisions, and compare the history with it."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from core.model.approval import ApprovalState
from tests.support.prompt_copies import Asked

_ENDS = {
    "done": ("allow-once", ApprovalState.ALLOWED),
    "denied": ("deny", ApprovalState.DENIED),
}


@dataclass(slots=True)
class Decisions:
    """What the platforms and the terminal accepted: approval to each account and reply."""

    taken: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def note(self, one: Asked, account: str, reply: str) -> None:
        """Record one accepted decision."""
        self.taken.setdefault(one.id, []).append((account, reply))

    def by_channel(self) -> Counter[str]:
        """Count the accepted decisions in each channel."""
        return Counter(by.partition(":")[0] for each in self.taken.values() for by, _ in each)


def miscounted(decisions: Decisions, rows: dict[str, dict[str, Any]]) -> list[str]:
    """Return the questions that did not end by exactly one of the accepted decisions."""
    return [
        f"{key}: {rows[key]['by']} {rows[key]['state']}, taken were {taken}"
        for key, taken in decisions.taken.items()
        if (rows[key]["by"], _ENDS[rows[key]["state"]][0]) not in taken
    ]


def truth(rows: dict[str, dict[str, Any]]) -> dict[str, ApprovalState]:
    """Return how each question ended."""
    return {key: _ENDS[row["state"]][1] for key, row in rows.items()}
