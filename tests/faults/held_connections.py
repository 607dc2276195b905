"""Hold many connections to a socket, in one of several ways, until standard input ends.

::

    python -m tests.faults.held_connections SOCKET WAY COUNT [ID]

    silent     connect and say nothing               half       send half a frame
    idle       ask once, then keep the connection    waiting    ask for the end of what waits (ID)
    sessions   as waiting, each from a process in its own session
    flood      connect and disconnect without end, from COUNT processes
"""

import json
import os
import socket
import sys
import time

HALF = b'{"jsonrpc": "2.0", "id": 1, "method": "exec.approval.list"'


def frame(method: str, **params: object) -> bytes:
    """Return a request as sent."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def connected(path: str) -> socket.socket:
    """Connect; wait in the queue if there is one."""
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(path)
    return peer


def hold(path: str, way: str, waited: str) -> socket.socket:
    """Hold one connection."""
    peer = connected(path)
    if way == "half":
        peer.sendall(HALF)
    elif way == "idle":
        peer.sendall(frame("history.list", limit=1) + b"\n")
        peer.recv(1 << 16)
    elif way in {"waiting", "sessions"}:
        peer.sendall(frame("exec.wait", id=waited) + b"\n")
    return peer


def apart(path: str, way: str, waited: str) -> None:
    """Hold a connection from a process in a session of its own."""
    if os.fork():
        return
    os.setsid()
    if way == "flood":
        while True:
            connected(path).close()
    peer = hold(path, way, waited)
    while peer.recv(1 << 16):
        pass
    time.sleep(600)


def main() -> None:
    """Hold them, report it, and wait for the end of standard input."""
    path, way, count, *more = sys.argv[1:]
    waited = more[0] if more else ""
    held = []
    for _ in range(int(count)):
        if way in {"sessions", "flood"}:
            apart(path, way, waited)
        else:
            held.append(hold(path, way, waited))
    print("held", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
