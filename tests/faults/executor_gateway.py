"""Run gateways whose session tokens are searchable: each begins with a word, then its 256 bits.

Each line of the input starts one, forked from a process that has loaded everything: loading takes
ten times as long as starting. Its process id is the answer.
"""

import importlib
import os
import secrets
import signal
import sys
from types import SimpleNamespace

from core.isolation import tokens

TOKEN = "canary-session-token-"
_LOADED = ("bot.app", "bot.cli.gateway.serve", "bot.wiring.logs", "bot.doctor.secret_files")


def _token(size: int) -> str:
    return TOKEN + secrets.token_urlsafe(size)


def _serve() -> None:
    from bot.cli import main  # noqa: PLC0415 - not for callers who want only the word

    for name in _LOADED:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # their exit codes are not needed
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(2, 1)
            os._exit(main(["serve"]))
        print(child, flush=True)


if __name__ == "__main__":
    assert hasattr(tokens, "secrets")
    vars(tokens)["secrets"] = SimpleNamespace(token_urlsafe=_token)
    _serve()
