"""Format the status of a run and how it ended, with what it printed.

Output of a command goes back to the agent that ran it, and to this machine, unchanged: it is the
agent's own. Whoever else reads it over the network gets it redacted.
"""

import base64

from bot.intake.callers.caller import Caller
from core.approvals.messages import past, ran
from core.model.decision import DenialReason
from core.model.identity import CODE_LENGTH
from core.model.result import (
    Denied,
    Finished,
    LiveOutput,
    Pending,
    Running,
    Stream,
    Submission,
    Unknown,
)
from core.text.render import printed, redact

Json = dict[str, object]
_MOST_PRINTED = 1_000_000


def submission(answer: Submission, caller: Caller) -> Json:
    """Return ``{"status": finished|denied|pending|running|unknown, "id", …}``."""
    match answer:
        case Finished():
            return _finished(answer, caller)
        case Denied(run_id=run_id, reason=reason, why=why):
            return {"status": "denied", "id": run_id, "reason": reason, "why": redact(why).text}
        case Pending(run_id=run_id, code=code, deadline_ms=deadline):
            return {"status": "pending", "id": run_id, "code": code, "deadlineMs": deadline}
        case Running(run_id=run_id):
            return {"status": "running", "id": run_id}
        case Unknown(run_id=run_id):
            return {"status": "unknown", "id": run_id}


def live(found: LiveOutput, caller: Caller) -> Json:
    """Return what a command that runs printed last."""
    text = output(found.text, caller)
    return {"running": True, "text": text, "totalBytes": found.total_bytes, "how": None}


def tail(status: Submission, caller: Caller) -> Json:
    """Return what is stored of a command's output, and how it ended, where it did."""
    text, total, how = "", 0, None
    match status:
        case Finished(output=kept):
            text, total, how = output(kept.tail, caller), kept.total_bytes, ran(status)
        case Denied(reason=reason):
            how = past("denied", None, reason)
        case Unknown():
            how = "unknown"
        case _:
            pass
    running = isinstance(status, Running)
    return {"running": running, "text": text, "totalBytes": total, "how": how}


def cancelled(status: Submission, *, done: bool) -> Json:
    """Return whether something was ended, and in words what; ``status`` from before."""
    code = status.run_id[:CODE_LENGTH].upper()
    match status:
        case Pending():
            words = f"{code} is withdrawn: nothing runs."
        case Finished():
            words = f"{code} has ended already: {ran(status)}."
        case Denied(reason=reason):
            words = f"{code} did not run ({reason}): there is nothing to cancel."
        case Unknown():
            words = f"{code} ended when its gateway died; the exit status is unknown."
        case _:
            words = f"{code} is being stopped."
    if not done and isinstance(status, Pending | Running):
        words = f"{code} was not cancelled: it is being answered or started right now. Try again."
    return {"cancelled": done, "id": status.run_id, "sentence": words}


def output(text: str, caller: Caller) -> str:
    """Return what a command printed, as this caller may read it, with its last line ends."""
    if reads_output(caller):
        return text
    return printed(text, _MOST_PRINTED).text + text[len(text.rstrip("\n")) :]


def reads_output(caller: Caller) -> bool:
    """Return whether a caller may read the very bytes that commands print."""
    return caller.peer is not None or caller.agents is not None


def _finished(result: Finished, caller: Caller) -> Json:
    answer = _end(result, caller)
    if result.output.truncated:
        answer["tail"] = output(result.output.tail, caller)
    if result.streams is not None and reads_output(caller):
        answer["stdout"] = _stream(result.streams.stdout)
        answer["stderr"] = _stream(result.streams.stderr)
    return answer


def _stream(one: Stream) -> Json:
    """Return a stream that was kept apart: its first bytes in base64, and how many there were."""
    data = base64.b64encode(one.data).decode("ascii")
    return {"data": data, "totalBytes": one.total_bytes, "truncated": one.truncated}


def _end(result: Finished, caller: Caller) -> Json:
    drift = {"reason": DenialReason.PLAN_DRIFT.value, "why": redact(result.drift).text}
    return {
        **(drift if result.drift else {}),
        **({"findings": [redact(one).text for one in result.findings]} if result.findings else {}),
        "status": "finished",
        "id": result.run_id,
        "how": ran(result),
        "exitCode": result.exit_code,
        "signal": result.signal,
        "timedOut": result.timed_out,
        "cancelled": result.cancelled,
        "durationMs": result.duration_ms,
        "output": output(result.output.text, caller),
        "truncated": result.output.truncated,
        "totalBytes": result.output.total_bytes,
    }
