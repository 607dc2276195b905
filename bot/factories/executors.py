"""Build the executors from the settings."""

import time

from bot.executor_setup.archive import build_id
from bot.factories.sandbox import encloses_others
from bot.settings import Settings
from core.isolation.call_audit import CallAudit
from core.isolation.containment import Containment, delegated
from core.isolation.executors import Executors
from core.isolation.pool import ExecutorPool
from core.isolation.terminal.terminals import Limits, Terminals
from core.isolation.tokens import SessionTokens
from core.isolation.upkeep import Options
from core.model.command import ExecRequest
from core.model.policy import ExecHost
from core.planning.environment import account_of
from core.planning.planner import RunAs
from core.ports import Journal, SpawnGuard


def executors_of(settings: Settings, journal: Journal, guard: SpawnGuard) -> Executors | None:
    """Return what runs commands as other users, ``None`` if nothing does."""
    section = settings.execution
    if not section.run_as_unix_user:
        return None
    pool, tokens = section.executor_pool, section.session_tokens
    options = Options(
        build_id(),
        max_executors=pool.max_executors,
        idle_timeout_s=pool.idle_timeout_ms / 1000,
        warm_spare=pool.warm_spare,
        connection_timeout_s=section.ipc.connection_timeout_ms / 1000,
    )
    made = SessionTokens(tokens.expiration_ms / 1000, tokens.max_uses, time.monotonic)
    audit = CallAudit(journal, section.debug)
    contained = ExecutorPool(options, made, audit, containment=Containment(delegated()))
    return Executors(contained, pool.max_executors, guard=guard)


def terminals_of(
    settings: Settings, executors: Executors | None, journal: Journal, guard: SpawnGuard
) -> Terminals | None:
    """Return what opens terminals as other users, ``None`` if nothing runs as one."""
    if executors is None:
        return None
    section = settings.execution.terminals
    limits = Limits(
        settings.home,
        section.most,
        section.idle_timeout_ms / 1000,
        section.longest_ms,
        section.record,
        section.record_bytes,
        frozenset(section.unasked),
    )
    return Terminals(executors, limits, journal, guard)


def run_as_of(settings: Settings) -> RunAs | None:
    """Return a lookup of the user that a request's commands run as, ``None`` if always ours."""
    section = settings.execution
    if not section.run_as_unix_user:
        return None

    def user(request: ExecRequest) -> str:
        if request.part is not None and request.part.user:
            return request.part.user
        return section.user_of(request.agent, request.requester.account)

    return user


def bound_hosts(settings: Settings) -> tuple[ExecHost, ...]:
    """Return the hosts whose commands run as other users, if any do."""
    sandboxed = (ExecHost.SANDBOX,) if encloses_others(settings) else ()
    return (ExecHost.GATEWAY, *sandboxed)


def executor_users(settings: Settings) -> tuple[str, ...]:
    """Return the users of this machine that commands may run as."""
    section = settings.execution
    named = {section.executor_unix_user, *(one.user for one in section.users)}
    return tuple(sorted(name for name in named if account_of(name) is not None))
