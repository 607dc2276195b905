"""Give prompts to agents from a chat, list the agents that take them, and stop prompts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from bot.chat.agent_text import given
from bot.chat.agent_threads import AgentThreads
from bot.chat.permissions import KnownPeople, stranger
from bot.chat.runs import session_of
from channels.base import Inbound, Reply, Tone
from channels.commands import AgentList, PromptAgent, StopAgent
from core.gate.gate import Gate
from core.model.command import AgentPart, AgentPartKind, ExecOverrides, ExecRequest
from core.model.identity import AgentId, ApprovalId, Intake, Requester, as_shown, code_of
from core.model.policy import ExecHost
from core.store.sessions import origins
from core.store.sessions.agent_threads import AgentThread
from core.store.views.references import matching
from core.text.render import Redacted, join, phrase, redact

Folders = Mapping[AgentId, Callable[[str], str]]
"""The agents that take prompts, and the folder that one of an account works in."""
_OFF = (
    "No agent can be started: agents run as other users only. Set execution.runAsUnixUser to true, "
    "see docs/how-to/prompt-an-agent.md, and restart the gateway."
)
_NONE = (
    "No agent takes prompts: none has a runtime. Name an agent's program in "
    "agents.list[].runtime and restart the gateway."
)
_UNKNOWN = "{} takes no prompts: no agent of this name has a runtime.{} /agent lists those that do."
_KNOWN_ALREADY = "This prompt was given already."
_NOTHING = "No prompt of yours is under way here. /agent stop CODE ends any other."
_NO_PROMPT = "No prompt here has the id or code {}. See /history."


@dataclass(frozen=True, slots=True)
class AgentPrompts:
    """What a chat may have agents do; ``folders`` is ``None`` if no agent can be started."""

    gate: Gate
    known: KnownPeople
    threads: AgentThreads
    folders: Folders | None

    async def take(self, inbound: Inbound) -> Reply | None:
        """List agents, give a prompt to one, or stop it."""
        match inbound.command:
            case AgentList():
                return await self.listed(inbound)
            case PromptAgent() as command:
                return await self.give(inbound, command)
            case StopAgent() as command:
                return await self.stop(inbound, command)
            case _:
                return None

    async def listed(self, inbound: Inbound) -> Reply:
        """List the agents to which this person may give a prompt."""
        if not await self.known.may_act(inbound.actor):
            return stranger(inbound.actor, "/agent", "senders")
        if not self.folders:
            return _refusal(_OFF if self.folders is None else _NONE)
        account = inbound.actor.ref
        lines = [
            phrase("{} in {}", redact(name, strict=True), redact(folder(account), strict=True))
            for name, folder in sorted(self.folders.items())
        ]
        head = Redacted("Agents that take prompts (/agent NAME TEXT):")
        return Reply(join("\n", (head, *lines)))

    async def give(self, inbound: Inbound, command: PromptAgent) -> Reply:
        """Submit a prompt; its progress is shown below what the person wrote."""
        if not await self.known.may_act(inbound.actor):
            return stranger(inbound.actor, "/agent", "senders")
        if self.folders is None:
            return _refusal(_OFF)
        agent = _named(command.name, self.folders)
        if agent is None:
            return self._unknown(command.name, self.folders)
        place, account = inbound.place, inbound.actor.ref
        session = session_of(place)
        await self.gate.store.write(origins.remember_origin, session, place)
        request = ExecRequest(
            requester=Requester(Intake.CHAT, account),
            session=session,
            cwd=self.folders[agent](account),
            argv=("prompt", agent, command.text),
            agent=agent,
            overrides=ExecOverrides(ExecHost.GATEWAY),
            request_key=f"{Intake.CHAT}\x1f{inbound.key}",
            part=AgentPart(AgentPartKind.PROMPT, account),
        )
        thread = AgentThread(request.request_key or "", agent, account, place)
        if not await self.threads.begin(thread, request, inbound.message):
            return Reply(redact(_KNOWN_ALREADY))
        return Reply(given(agent), Tone.OK)

    async def stop(self, inbound: Inbound, command: StopAgent) -> Reply:
        """End a prompt; people who may look may stop, as with a command."""
        actor = inbound.actor
        if not await self.known.may_look(actor):
            return stranger(actor, "/agent stop", "approvers and senders")
        run_id = await self._meant(inbound, command)
        if run_id is None:
            if command.ref:
                return Reply(phrase(_NO_PROMPT, redact(as_shown(command.ref))), Tone.REFUSED)
            return _refusal(_NOTHING)
        code = redact(code_of(run_id))
        note = f"stopped by {actor.name or actor.account} ({actor.channel})"
        if await self.threads.cancel(run_id, note):
            return Reply(phrase("{} is being stopped.", code), Tone.OK)
        return Reply(phrase("{} has ended.", code))

    async def _meant(self, inbound: Inbound, command: StopAgent) -> ApprovalId | None:
        if not command.ref:
            return await self.threads.newest(inbound.actor.ref, inbound.place)
        found = await self.gate.store.read(matching, command.ref)
        return found[0] if len(found) == 1 and await self._may_be_prompt(found[0]) else None

    async def _may_be_prompt(self, run_id: ApprovalId) -> bool:
        """Return whether a request may be a prompt; an unknown one may."""
        plan = await self.gate.plan_of(run_id)
        part = None if plan is None else plan.part
        return plan is None or (part is not None and part.kind is AgentPartKind.PROMPT)

    def _unknown(self, name: str, folders: Folders) -> Reply:
        if not folders:
            return _refusal(_NONE)
        near = get_close_matches(name.lower(), [one.lower() for one in folders], 1)
        hint = phrase(" Did you mean {}?", redact(near[0])) if near else Redacted("")
        return Reply(phrase(_UNKNOWN, redact(name, strict=True), hint), Tone.REFUSED)


def _named(name: str, folders: Folders) -> AgentId | None:
    """Return the agent of a name; phones begin it with a capital."""
    exact = [one for one in folders if one == name]
    alike = [one for one in folders if one.lower() == name.lower()]
    found = exact or alike
    return found[0] if len(found) == 1 else None


def _refusal(words: str) -> Reply:
    return Reply(Redacted(words), Tone.REFUSED)
