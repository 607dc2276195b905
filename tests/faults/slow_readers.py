"""Act as another user who asks for much on many connections, and reads nothing.

::

    python -m tests.faults.slow_readers SOCKET UID CONNECTIONS WAY FOLDER

    half       half a request
    refused    3000 requests that are refused at once, and half of one
    explain    64 requests to judge, and half of one more
    run        64 commands that people must allow, and half of one
"""

import contextlib
import json
import os
import socket
import sys

_EACH = 64
"""Requests that one connection may have in flight."""
HALF = b'{"jsonrpc": "2.0", "id": "half", "method": "exec.run"'


def frames(method: str, count: int, **params: object) -> bytes:
    """Return requests as sent, and half of one more."""
    ask = {"jsonrpc": "2.0", "method": method, "params": params}
    return b"".join(json.dumps({**ask, "id": n}).encode() + b"\n" for n in range(count)) + HALF


def words(way: str, folder: str) -> bytes:
    """Return what each connection sends."""
    if way == "explain":
        line = "git log | head -5 && ls -la | wc -l"
        return frames("policy.explain", _EACH, command=line, cwd=folder)
    if way == "run":
        return frames("exec.run", _EACH, command="id -un", cwd=folder)
    if way == "refused":
        return frames("no.such.method", 3000)
    return HALF


def main() -> None:
    """Hold the connections, report it, and wait for the end of standard input."""
    path, uid, count, way, folder = sys.argv[1:]
    os.setgroups([])
    os.setgid(int(uid))
    os.setuid(int(uid))
    said = words(way, folder)
    held = [socket.socket(socket.AF_UNIX) for _ in range(int(count))]
    for one in held:
        one.connect(path)
    for one in held:
        one.setblocking(False)
        with contextlib.suppress(OSError):  # disconnected, or its buffer is full
            one.send(said)
    print("held", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
