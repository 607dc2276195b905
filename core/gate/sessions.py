"""Set a chat session's knobs, as a person who may: ``/exec`` and ``/elevated`` (S0).

``SessionLayers`` is what the gate reads, ``SessionRules`` what a chat's inbox writes. No intake of
agents reaches the latter: an agent never sets its session's policy (docs/decisions/0003).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from core.approvals.rendering import redact
from core.approvals.senders import Senders
from core.model.command import ExecOverrides
from core.model.identity import Actor, SessionKey
from core.model.policy import Elevation, ExecAsk, ExecHost, ExecSecurity, PolicyLayer
from core.ports import Journal
from core.store import Store, session_overrides
from core.store.notes import RESYNC
from core.store.session_overrides import CHANGED, SessionKnobs

SOURCE = "session"
"""The source of the layer that people set for one session."""


_ASK = {Elevation.ON: None, Elevation.ASK: ExecAsk.ALWAYS, Elevation.FULL: ExecAsk.OFF}


@dataclass(frozen=True, slots=True)
class SessionChange:
    """Whether a session was changed, and the sentence for whoever wanted it."""

    done: bool
    sentence: str


@dataclass(slots=True)
class SessionLayers:
    """The layer of policy of each session.

    Where this process alone can write the store, all of them are kept in memory until a wake-up
    says that one changed; otherwise the store is read each time.
    """

    store: Store
    _kept: Mapping[SessionKey, SessionKnobs] | None = None
    _shared: bool = False
    _changes: int = 0

    def __post_init__(self) -> None:
        """Listen for changes."""
        self.store.subscribe(self._hear)

    def _hear(self, note: str) -> None:
        if note in {CHANGED, RESYNC}:
            self._changes += 1
            self._kept = None

    async def layer(self, session: SessionKey) -> PolicyLayer | None:
        """Return what people set for a session, ``None`` if nothing.

        Raises:
            StoreError: it cannot be read, so nothing runs.
        """
        if self._kept is not None:
            knobs = self._kept.get(session)
        elif self._shared:
            knobs = await self.store.read(session_overrides.get, session)
        else:
            knobs = await self._read(session)
        return None if knobs is None else layer_of(knobs)

    async def _read(self, session: SessionKey) -> SessionKnobs | None:
        seen = self._changes
        found = await self.store.read(session_overrides.every)
        self._shared = not found.alone
        # A change that was committed while we read must not be hidden by what we read.
        if found.alone and seen == self._changes:
            self._kept = found.sessions
        return found.sessions.get(session)


def layer_of(found: SessionKnobs) -> PolicyLayer:
    """Return what people set for a session as a layer of policy."""
    knobs = found.overrides
    return PolicyLayer(
        SOURCE, host=knobs.host, security=knobs.security, ask=knobs.ask, node=knobs.node
    )


@dataclass(frozen=True, slots=True)
class SessionRules:
    """Change a session's knobs; only authorised senders may, and each change is in the journal.

    ``elevated`` is ``tools.elevated.enabled``: without it nobody gives a session full security.
    """

    store: Store
    journal: Journal
    senders: Senders
    elevated: bool = field(default=False)

    async def set(
        self, session: SessionKey, overrides: ExecOverrides, actor: Actor
    ) -> SessionChange:
        """Set the given knobs; those that are not given stay as they were set before.

        Raises:
            StoreError: nothing was changed.
            JournalError: nothing was changed.
        """
        refusal = await self._refusal(actor, widens=overrides.security is ExecSecurity.FULL)
        if refusal is not None:
            return refusal
        before = await self.store.read(session_overrides.get, session)
        merged = overrides if before is None else _merged(before.overrides, overrides)
        return await self._write(session, merged, actor)

    async def elevate(self, session: SessionKey, mode: Elevation, actor: Actor) -> SessionChange:
        """Give a session full access on the gateway host, or take back all that was set for it.

        Raises:
            StoreError: nothing was changed.
            JournalError: nothing was changed.
        """
        if mode is Elevation.OFF:
            return await self._clear(session, actor)
        refusal = await self._refusal(actor, widens=True)
        if refusal is not None:
            return refusal
        knobs = ExecOverrides(ExecHost.GATEWAY, ExecSecurity.FULL, _ASK[mode])
        return await self._write(session, knobs, actor)

    async def shown(self, session: SessionKey) -> SessionKnobs | None:
        """Return what is set for a session and by whom, ``None`` if nothing."""
        return await self.store.read(session_overrides.get, session)

    async def _refusal(self, actor: Actor, *, widens: bool) -> SessionChange | None:
        if not await self.senders.may(actor):
            return _may_not(actor)
        if widens and not self.elevated:
            return SessionChange(
                False,
                "Full security is not offered here: tools.elevated.enabled is false in the "
                "configuration. Nothing was changed.",
            )
        return None

    async def _write(
        self, session: SessionKey, knobs: ExecOverrides, actor: Actor
    ) -> SessionChange:
        words = worded(knobs)
        await self._record(session, actor, words)
        await self.store.write(session_overrides.put, session, knobs, actor)
        return SessionChange(True, f"Set for this session: {words}.")

    async def _clear(self, session: SessionKey, actor: Actor) -> SessionChange:
        if not await self.senders.may(actor):
            return _may_not(actor)
        await self._record(session, actor, "cleared")
        if await self.store.write(session_overrides.clear, session):
            return SessionChange(True, "Cleared: the configuration holds for this session again.")
        return SessionChange(True, "Nothing was set for this session.")

    async def _record(self, session: SessionKey, actor: Actor, words: str) -> None:
        record: dict[str, object] = {
            "session": redact(session).text,
            "by": actor.ref,
            "set": redact(words).text,
        }
        await self.journal.append("session", record)


def _merged(before: ExecOverrides, now: ExecOverrides) -> ExecOverrides:
    given = {
        name: value
        for name in ("host", "security", "ask", "node")
        if (value := getattr(now, name)) is not None
    }
    return replace(before, **given)


def worded(knobs: ExecOverrides) -> str:
    """Word knobs as they are typed: ``host=gateway security=full``."""
    given = {
        "host": knobs.host,
        "security": knobs.security,
        "ask": knobs.ask,
        "node": knobs.node,
    }
    return " ".join(f"{name}={value}" for name, value in given.items() if value is not None)


def _may_not(actor: Actor) -> SessionChange:
    return SessionChange(
        False,
        f"You may not change this session: id {actor.account} is not in "
        f"channels.{actor.channel}.senders. Nothing was changed.",
    )
