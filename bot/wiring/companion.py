"""Build what asks the companion and has it run plans: where it listens, who counts as it."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from bot.intake.callers import unix_peer
from bot.settings import Settings
from channels.base import Channel
from channels.companion.channel import HERE, CompanionChannel
from core.approvals.ask import ExtraPlaces, nobody_near
from core.approvals.file.file import ApprovalsFile
from core.companion.client import CompanionAddress, NoCompanion
from core.errors import ApprovalsFileError, HostUnavailable
from core.gate.effective_policy import Rulebook
from core.gate.gate import Gate
from core.hosts.companion import CompanionRunner
from core.ipc.peer import Peer, start_ticks
from core.model.approval import ApprovalState
from core.model.command import ExecPlan, ExecRequest
from core.model.identity import COMPANION_CHANNEL
from core.ports import SpawnGuard
from core.runner.runner import Runner

_log = logging.getLogger(__name__)


def companion_of(settings: Settings) -> Mapping[str, CompanionChannel]:
    """Return the channel of the companion by its name; nothing if it is not configured."""
    if settings.channels.companion is None:
        return {}
    file = ApprovalsFile(settings.home / "exec-approvals.json")
    return {COMPANION_CHANNEL: CompanionChannel(lambda: address_of(file), session_of)}


def connect(channels: Mapping[str, Channel], gate: Gate) -> None:
    """Have the gate notified of each question whose companion disconnected."""
    channel = channels.get(COMPANION_CHANNEL)
    if isinstance(channel, CompanionChannel):
        channel.lost = gate.companion_lost


def address_of(file: ApprovalsFile) -> CompanionAddress | None:
    """Return where a companion listens by exec-approvals.json; ``None`` if there is no token."""
    try:
        found = file.read()
    except ApprovalsFileError as error:
        _log.warning("no companion is asked: %s", error)
        return None
    if not found.socket_token:
        return None
    path = Path(found.socket_path).expanduser() if found.socket_path else file.socket_path
    return CompanionAddress(path, found.socket_token)


def runner_of(
    file: ApprovalsFile, runner: Runner, guard: SpawnGuard, rulebook: Rulebook
) -> CompanionRunner:
    """Return a runner that has plans run by the companion if exec-approvals.json says so."""

    def where() -> CompanionAddress | None:
        try:
            executes = file.read().socket_executes
        except ApprovalsFileError as error:
            raise HostUnavailable(f"where commands run cannot be read: {error}") from None
        if not executes:
            return None
        # Without a token nobody has ever listened there: the companion creates it.
        return address_of(file) or CompanionAddress(file.socket_path, "")

    def unasked(plan: ExecPlan) -> bool:
        try:
            fallback = rulebook.fallback(plan, rulebook.agent_policy(plan.agent))
        except ApprovalsFileError:
            return False
        return fallback.state is ApprovalState.ALLOWED

    return CompanionRunner(runner, where, lambda peer: session_of(peer) is not None, unasked, guard)


def session_of(peer: Peer) -> tuple[int, int] | None:
    """Return the kernel session of a listener; ``None`` if it is gone, or in one of our runs."""
    if peer.start_ticks is None or start_ticks(peer.pid) != peer.start_ticks:
        return None
    if unix_peer.is_run(peer.pid):
        return None
    return unix_peer.kernel_session(peer.pid)


def nearby_of(channels: Mapping[str, Channel]) -> Callable[[ExecRequest], Awaitable[ExtraPlaces]]:
    """Return a lookup of a companion at which somebody other than the requester may answer."""
    channel = channels.get(COMPANION_CHANNEL)
    if not isinstance(channel, CompanionChannel):
        return nobody_near

    async def nearby(request: ExecRequest) -> ExtraPlaces:
        try:
            session = await channel.present()
        except NoCompanion as absent:
            return ExtraPlaces(note=str(absent).rstrip("."))
        if request.requester.process in {None, session} and request.requester.uid is not None:
            return ExtraPlaces(note="the companion runs in the session that asks")
        return ExtraPlaces((HERE,))

    return nearby
