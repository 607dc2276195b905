"""Start `sayso-executor`: take the socket, block inspection by others, serve.

::

    sayso-executor                 the gateway's way: a connected socket is descriptor 0
    sayso-executor --socket PATH   listen there for one client, in a folder of mode 0700
"""

import gc
import os
import signal
import socket
import sys

from bot.executor.connection import Connection
from bot.executor.executor import Executor
from bot.executor.own_socket import NoClient, accepted
from core.runner.supervisor import process_setup
from core.runner.supervisor.launcher import close_inherited
from core.runner.supervisor.pinned_files import open_notifier
from core.runner.supervisor.processes import procfs

USAGE = "usage: sayso-executor [--socket PATH]\n"


def main(build: str = "") -> None:
    """Serve one connection, and end with it."""
    try:
        sock = _socket(sys.argv[1:])
    except NoClient as failure:
        sys.stderr.write(f"sayso-executor: {failure}\n")
        sys.exit(1)
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for standard in range(3):
        os.dup2(null, standard)
    close_inherited({sock.fileno(), null})
    os.chdir("/")
    process_setup.go_first()
    closed = process_setup.is_closed_to_others()
    process_setup.close_to_others()
    process_setup.settle()
    signal.signal(signal.SIGTERM, lambda _number, _frame: None)  # handled by the loop
    procfs.keep_spare()
    open_notifier.fault()  # looked up here, so that each fork has the result
    wake = process_setup.wake_on_child()
    # A collection in a forked child would touch, and so copy, every page that is shared.
    gc.disable()
    gc.freeze()
    sys.exit(0 if Executor(Connection(sock), wake, build, closed=closed).serve() else 1)


def _socket(words: list[str]) -> socket.socket:
    """Return the connection that the command line names.

    Raises:
        NoClient: there is none.
    """
    match words:
        case []:
            try:
                return socket.socket(fileno=os.dup(0))
            except OSError as error:
                raise NoClient("descriptor 0 is not a socket; the gateway starts this") from error
        case ["--socket", path]:
            return accepted(path)
        case _:
            sys.stderr.write(USAGE)
            sys.exit(2)
