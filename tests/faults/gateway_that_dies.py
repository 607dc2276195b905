"""Run a gateway that kills itself (SIGKILL), once, at the moment that a file in its home names.

The file ``die`` holds a method and ``before`` or ``after``: before its handler has started, or when
the request is done and recorded but not yet answered.
"""

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from bot.cli import main
from bot.intake import socket
from bot.intake.callers.caller import Caller
from bot.intake.registry.method import AnyMethod, invoke
from core.gate.gate import Begun, Gate
from core.model.command import ExecRequest
from core.model.result import Submission

DIE = Path(os.environ["SAYSO_HOME"]) / "die"
RUN = "exec.run"
_submit = Gate.submit


def _die(method: str, moment: str) -> None:
    if DIE.exists() and DIE.read_text() == f"{method} {moment}":
        DIE.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


async def _dying_invoke(method: AnyMethod, raw: Mapping[str, object], caller: Caller) -> object:
    if method.name != RUN:
        _die(method.name, "before")
    answer = await invoke(method, raw, caller)
    if method.name != RUN:
        _die(method.name, "after")
    return answer


async def _dying_submit(self: Gate, request: ExecRequest, begun: Begun | None = None) -> Submission:
    if self.execution.guard.mark_of(request) is not None:
        return await _submit(self, request, begun)  # the gateway's own proof
    _die(RUN, "before")
    submitted = await _submit(self, request, begun)
    _die(RUN, "after")
    return submitted


if __name__ == "__main__":
    socket.invoke = _dying_invoke  # type: ignore[attr-defined]
    Gate.submit = _dying_submit  # type: ignore[method-assign]
    sys.exit(main())
