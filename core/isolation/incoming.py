"""Handle the calls that an executor makes: its reports, and its requests for an answer."""

import logging

from core.errors import SaysoError
from core.isolation import wire
from core.isolation.executor import Executor

_log = logging.getLogger(__name__)
_FAILED = "internal error, see the gateway's log"
_STARTED = frozenset({"agent_started", "terminal_started"})


def notified(executor: Executor, method: str, params: wire.Object) -> str:
    """Handle a notification; return the result to record in the journal."""
    data = params.get("data")
    if method == wire.REPORT_COMPLETION:
        if params.get("left"):
            _log.warning("executor %s left %s processes", executor.id, params["left"])
        executor.completed.set()
    elif method == wire.REPORT_MESSAGE and executor.talk is not None and isinstance(data, dict):
        kind = str(params.get("message_type"))
        if kind in _STARTED:
            executor.leaders = [list(one) for one in identities(data.get("leaders"))]
        executor.talk.message(kind, data)
    else:
        return f"Unknown method: {method}"
    return "ok"


def identities(said: object) -> list[tuple[int, int]]:
    """Return the processes that an executor names: pid, and start time in ticks."""
    named = said if isinstance(said, list) else []
    pairs = [one for one in named if isinstance(one, list) and len(one) == 2]  # noqa: PLR2004
    return [(pid, ticks) for pid, ticks in pairs if type(pid) is int and type(ticks) is int]


async def answer(
    executor: Executor, method: str, params: wire.Object, number: object
) -> tuple[bytes, str]:
    """Return the answer to a call and the result for the journal; a failure is an answer, too."""
    talk = executor.talk
    try:
        if talk is not None and method == wire.GET_API_KEY:
            return wire.result(number, await talk.api_key(params)), "ok"
        if talk is not None and method == wire.REQUEST_PERMISSION:
            return wire.result(number, await talk.permission(params)), "ok"
    except SaysoError as failure:
        return wire.error(number, wire.FAILED, str(failure)), str(failure)
    except Exception:  # noqa: BLE001 - a bug must be answered as well: the agent waits for it
        _log.exception("%s of executor %s failed", method, executor.id)
        return wire.error(number, wire.FAILED, _FAILED), _FAILED
    words = f"Unknown method: {method}"
    return wire.error(number, wire.UNKNOWN_METHOD, words), words
