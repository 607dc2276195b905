"""Show and set where a chat's commands run: ``/exec`` and ``/elevated`` (S0 "Slash commands")."""

from dataclasses import dataclass

from bot.chat.permissions import KnownPeople, stranger
from bot.chat.runs import session_of
from channels.base import Inbound, Reply, Tone
from channels.commands import Elevated, ResetExec, SetExec
from core.approvals.messages import person
from core.gate.sessions import SessionChange, SessionRules, worded
from core.model.command import ExecOverrides
from core.text.render import phrase, redact


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """The settings of a chat's own session."""

    rules: SessionRules
    known: KnownPeople

    async def take(self, inbound: Inbound) -> Reply | None:
        """Show or set the settings."""
        match inbound.command:
            case SetExec() as command:
                return await self.exec(inbound, command)
            case ResetExec():
                return _reply_for(await self.rules.reset(session_of(inbound.place), inbound.actor))
            case Elevated() as command:
                return await self.elevated(inbound, command)
            case _:
                return None

    async def exec(self, inbound: Inbound, command: SetExec) -> Reply:
        """Set the given settings; without any, show what is set and by whom."""
        session = session_of(inbound.place)
        if command.overrides != ExecOverrides():
            return _reply_for(await self.rules.set(session, command.overrides, inbound.actor))
        if not await self.known.may_look(inbound.actor):
            return stranger(inbound.actor, "/exec", "approvers and senders")
        stored = await self.rules.shown(session)
        if stored is None:
            return Reply(redact("This chat has no settings of its own; the configuration applies."))
        words = phrase(
            "Set for this chat by {}: {}.",
            redact(person(stored.by)),
            redact(worded(stored.overrides)),
        )
        return Reply(words)

    async def elevated(self, inbound: Inbound, command: Elevated) -> Reply:
        """Give this chat's session full access on the gateway, or take it back."""
        session = session_of(inbound.place)
        return _reply_for(await self.rules.elevate(session, command.mode, inbound.actor))


def _reply_for(change: SessionChange) -> Reply:
    return Reply(redact(change.sentence), Tone.OK if change.done else Tone.REFUSED)
