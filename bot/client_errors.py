"""Report errors between a client and the gateway; imported only when one occurs."""

import os
from typing import Any

from core import errors

_INVALID_PARAMS, _DEADLINE, _CANCELLED = -32602, -32002, -32800
_ASKING = frozenset(
    {
        "agent.prompt",
        "exec.approval.request",
        "exec.run",
        "node.invoke",
        "terminal.open",
        "tool.call",
    }
)
_HARMLESS = frozenset(
    {
        "audit.verify",
        "exec.approval.copies",
        "exec.approval.evidence",
        "exec.approval.resolve",
        "exec.approval.waitDecision",
        "exec.approvals.set",
        "exec.approvals.node.set",
        "exec.cancel",
        "exec.remote.cancel",
        "exec.remote.diagnostics",
        "exec.remote.output",
        "exec.remote.sessions",
        "exec.tail",
        "exec.wait",
        "events.ack",
        "events.drain",
        "grants.revoke",
        "lockdown.engage",
        "lockdown.lift",
        "node.approve",
        "node.rename",
        "node.revoke",
        "page.end",
        "page.sessions",
        "people.forgetPasskey",
        "people.forgetTotp",
        "people.passkeys",
        "policy.explain",
        "policy.rules",
        "skills.bins",
        "system.which",
        "tasks.end",
        "terminal.end",
        "terminal.read",
        "token.revoke",
    }
)
"""Methods that change nothing, or change nothing more when repeated."""


def unreachable(path: str, error: OSError) -> errors.GatewayUnreachable:
    """Return why nobody listens on a socket, and what to do; the gateway has received nothing."""
    if isinstance(error, TimeoutError):
        return errors.GatewayUnreachable(
            f"The gateway on {path} did not take the request in time; nothing was asked. Retry, "
            "and see `sayso status`."
        )
    if isinstance(error, PermissionError):
        return errors.GatewayUnreachable(
            f"The gateway's socket {path} cannot be used: {error.strerror or error}. {_own(path)}"
        )
    absent = isinstance(error, FileNotFoundError | ConnectionRefusedError)
    words = "" if absent else f": {error.strerror or error}"
    is_set_up = os.path.exists(os.path.join(os.path.dirname(path), "config.json5"))  # noqa: PTH110, PTH118, PTH120 - see bot.cli.paths
    first = "" if is_set_up else "Run `sayso init` first if you have not yet. "
    return errors.GatewayUnreachable(
        f"No gateway is listening on {path}{words}. {first}Start one with `sayso serve`."
    )


def _own(path: str) -> str:
    """Return what to do about a socket that this user may not use; imports take time."""
    from pathlib import Path  # noqa: PLC0415

    from core.files.unreadable import opens_folder  # noqa: PLC0415

    return opens_folder(Path(path)) or (
        "Only its owner may use it; SAYSO_SOCKET and SAYSO_HOME say which socket is used."
    )


def unanswered(path: str, error: OSError, method: str) -> errors.Unanswered:
    """Return the error that no answer to a request came, and how to find out what became of it."""
    if isinstance(error, TimeoutError):
        words = f"The gateway on {path} did not answer in time."
    else:
        why = error.strerror or error
        words = f"The request was sent to the gateway on {path}, but no answer came: {why}."
    return errors.Unanswered(f"{words} {_doubt(method)}")


def refused(path: str, error: dict[str, Any], method: str) -> errors.SaysoError:
    """Return the error that the gateway returned, as the type that it raised."""
    message = str(error["message"])
    if error["code"] in {_CANCELLED, _DEADLINE}:  # it stopped waiting, not what it had begun
        return unanswered(path, OSError(message), method)
    kind = getattr(errors, str(error.get("data", {}).get("type", "")), None)
    if not (isinstance(kind, type) and issubclass(kind, errors.SaysoError)):
        kind = errors.BadRequest if error["code"] == _INVALID_PARAMS else errors.SaysoError
    return kind(message)


def _doubt(method: str) -> str:
    """Format what may have happened, and how to find out."""
    if method.endswith((".get", ".list")):
        return "Retry: it asked for nothing to be changed."
    words = "It may have acted on the request, or may still act:"
    if method in _ASKING:
        return f"{words} see `sayso pending` and `sayso history` before you ask again."
    if method == "exec.remote.run":
        return f"{words} see `sayso exec sessions` before you ask again."
    if method in _HARMLESS:
        return f"{words} repeat the command, which does no harm, or see `sayso history`."
    return f"{words} see whether it did before you repeat the command."
