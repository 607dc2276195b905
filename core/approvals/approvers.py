"""Decide who may answer (DESIGN §1 rule 7).

An empty list means nobody. Ids are the platform's immutable ones, compared exactly. The requester
never approves its own request, on any path.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from core.model.identity import Actor, Intake, Requester


class Standing(StrEnum):
    """Whether a person may answer a request, or why not."""

    MAY = "may"
    NOT_LISTED = "not_listed"
    REQUESTER = "requester"


@dataclass(frozen=True, slots=True)
class Approvers:
    """The listed approvers of each channel: channel name to platform ids."""

    by_channel: Mapping[str, frozenset[str]]

    def standing(
        self, actor: Actor, requester: Requester, process: tuple[int, int] | None = None
    ) -> Standing:
        """Say whether ``actor`` may answer a request of ``requester``.

        ``process`` is the kernel session of an actor who answers over the local socket: a command
        started from the session that asked is the requester, whatever it calls itself, and so is
        one whose session cannot be told from it (peers: OpenClaw #48149).
        """
        if _same(actor, requester, process):
            return Standing.REQUESTER
        if actor.account not in self.by_channel.get(actor.channel, frozenset()):
            return Standing.NOT_LISTED
        return Standing.MAY

    def anybody(self, channel: str) -> bool:
        """Say whether a channel has an approver at all."""
        return bool(self.by_channel.get(channel))


def _same(actor: Actor, requester: Requester, process: tuple[int, int] | None) -> bool:
    if requester.intake is Intake.CHAT:
        return actor.account == requester.account
    # A uid is an account of the machine, not a person: the kernel session tells callers apart.
    return process is not None and requester.process in {None, process}
