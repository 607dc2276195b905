"""Serve remote exec over the method table, with S4's own JSON: ``exec.remote.*``."""

import base64
import time
from collections import OrderedDict
from dataclasses import dataclass, field, replace

from bot.factories.remote_exec import RemoteExec, masked
from bot.intake.callers.caller import Caller
from bot.intake.registry.method import Group, handles
from bot.intake.registry.params import NoParams
from bot.intake.results.remote_bodies import (
    CancelBody,
    DiagnosticsAnswer,
    OutputBody,
    OutputPage,
    RemoteCancelledAnswer,
    RemoteSessionsAnswer,
    RemoteWarning,
    RunAnswer,
    RunBody,
    UnderWay,
)
from core.errors import BadRequest
from core.gate.guards.lockdown import Lockdown
from core.model.access import Scope
from core.model.identity import Intake
from core.ports import Journal
from core.remote.acl.acl import Acl
from core.remote.denials import Notice, RemoteDenial
from core.remote.result import RemoteResult
from core.trust.ids import new_id

INLINE = 3 << 20
"""Bytes of both streams together that one answer on gateway.sock carries; a frame has 8 MiB."""
PAGE = 2 << 20
_KEPT = 8
_KEPT_S = 300.0
ASKS = frozenset({Scope.ADMIN})
READERS = frozenset({Scope.READ, Scope.ADMIN})


@dataclass(frozen=True, slots=True)
class RemoteMethods(Group):
    """The methods of remote exec."""

    remote: RemoteExec
    journal: Journal
    lockdown: Lockdown
    _kept: OrderedDict[str, tuple[float, RemoteResult]] = field(default_factory=OrderedDict)

    @handles(
        "exec.remote.run",
        ASKS,
        "Run a listed argument vector on another machine, and wait for its end.",
        ends_with_caller=True,
    )
    async def run(self, body: RunBody, caller: Caller) -> RunAnswer:
        """Run, and return all output over HTTP, else as much as a frame carries."""
        result = await self.result(body, caller)
        framed = caller.requester.intake is not Intake.HTTP
        if not framed or len(result.stdout) + len(result.stderr) <= INLINE:
            return RunAnswer.of(result)
        self._keep(result)
        half = INLINE // 2
        trimmed = replace(
            result,
            stdout=result.stdout[:half],
            stderr=result.stderr[:half],
            truncated=True,
            warnings=(*result.warnings, Notice.ANSWER_TRIMMED),
        )
        return RunAnswer.of(trimmed)

    async def result(self, body: RunBody, caller: Caller) -> RemoteResult:
        """Run, and return the whole result; the request is journalled before and after.

        Raises:
            SaysoError: the keys, the contacts or the journal cannot be used; nothing was sent.
        """
        order, request_id = body.order(), new_id()
        await self.journal.append(
            "remote",
            {
                "by": caller.ref,
                "request": request_id,
                "agent": body.agent_id,
                "argv": masked(body.argv),
            },
        )
        if self.lockdown.state() is not None:
            result = RemoteResult(request_id, denial_reason=RemoteDenial.LOCKED_DOWN)
        else:
            result = await self.remote.client.run(body.agent_id, order, request_id)
        await self.journal.append(
            "remote",
            {
                "request": request_id,
                "code": result.code,
                "signal": result.signal,
                "denial": result.denial_reason,
                "warnings": list(result.warnings),
            },
        )
        return result

    @handles("exec.remote.cancel", ASKS, "Cancel a remote run in progress.")
    async def cancel(self, body: CancelBody, caller: Caller) -> RemoteCancelledAnswer:
        """Cancel a request."""
        await self.journal.append(
            "remote", {"by": caller.ref, "request": body.request_id, "cancel": True}
        )
        cancelled = await self.remote.client.cancel(body.request_id, body.agent_id)
        return RemoteCancelledAnswer(cancelled=cancelled)

    @handles("exec.remote.output", ASKS, "Read the rest of truncated output.")
    async def output(self, body: OutputBody, _caller: Caller) -> OutputPage:
        """Return the next page of a trimmed answer."""
        self._forget()
        if body.request_id not in self._kept:
            raise BadRequest(
                f"the output of {body.request_id} is not available: it was not truncated, or ended "
                f"more than {_KEPT_S:.0f} s ago"
            )
        result = self._kept[body.request_id][1]
        data = result.stdout if body.stream == "stdout" else result.stderr
        page = data[body.offset : body.offset + PAGE]
        more = body.offset + len(page) < len(data)
        return OutputPage(data_b64=base64.b64encode(page).decode(), more=more)

    @handles(
        "exec.remote.sessions",
        READERS,
        "List remote requests in progress, ours and others'.",
        of_all=True,
    )
    async def sessions(self, _body: NoParams, _caller: Caller) -> RemoteSessionsAnswer:
        """List our own requests and those that run here for others."""
        pending = [
            UnderWay(
                request_id=one.request_id,
                agent_id=one.agent_id,
                program=masked(one.order.argv[:1])[0],
                age_ms=one.age_ms,
            )
            for one in (self.remote.client if self.remote.pending else ())
        ]
        sessions = [
            UnderWay(
                request_id=one.request_id,
                agent_id=one.agent_id,
                program=one.program,
                age_ms=one.age_ms,
            )
            for one in self.remote.sessions
        ]
        return RemoteSessionsAnswer(pending=pending, sessions=sessions)

    @handles(
        "exec.remote.diagnostics",
        READERS,
        "Report whether remote exec is on, what was denied, how long its list is.",
        of_all=True,
    )
    async def diagnostics(self, _body: NoParams, _caller: Caller) -> DiagnosticsAnswer:
        """Return the counters, never the access list."""
        counters = self.remote.counters
        recent = [
            RemoteWarning(at_ms=one.at_ms, agent=one.agent, warning=one.warning)
            for one in counters.recent
        ]
        return DiagnosticsAnswer(
            enabled=self.remote.enabled,
            listening=[str(one) for one in self.remote.listening],
            active_sessions=len(self.remote.sessions),
            pending_requests=self.remote.pending,
            started=counters.started,
            finished=counters.finished,
            denied={reason: number for reason, number in counters.denied.items() if number},
            truncated=counters.truncated,
            warnings={notice.value: number for notice, number in counters.notices.items()},
            unheard=counters.unheard,
            recent_warnings=recent,
            acl=_acl_summary(self.remote.acl),
        )

    def _keep(self, result: RemoteResult) -> None:
        self._forget()
        self._kept[result.request_id] = (time.monotonic() + _KEPT_S, result)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)

    def _forget(self) -> None:
        now = time.monotonic()
        for request_id in [key for key, (until, _) in self._kept.items() if until <= now]:
            del self._kept[request_id]


def _acl_summary(acl: Acl | None) -> dict[str, object] | None:
    """Return counts and caps, without any vector or id (S4 "safe ACL summary")."""
    if acl is None:
        return None
    shown = acl.table.model_dump(
        exclude={"allow", "audit_log_path", "audit_tasklist_id", "default_cwd", "enabled"}
    )
    commands = [one for entry in acl.entries.values() for one in entry.commands]
    return {
        "pairs": len(acl.entries),
        "commands": len(commands),
        "with_templates": sum(not one.literal for one in commands),
        **shown,
    }
