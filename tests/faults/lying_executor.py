"""Speak as an executor does, and send what the test wants: ``say`` carries the lines.

Run as another user, with the gateway's socket as descriptor 0.
"""

import json
import os
import socket


def answered(method: str, params: dict[str, list[str]], sock: socket.socket) -> dict[str, object]:
    """Return the answer to a call; ``say`` sends its lines first."""
    if method == "run":
        return {"pid": os.getpid(), "leaders": []}
    if method == "say":
        sock.sendall("".join(f"{line}\n" for line in params["lines"]).encode())
    return {"pong": True}


def main() -> None:
    """Answer calls until the connection ends."""
    sock = socket.socket(fileno=0)
    for line in sock.makefile("rb"):
        call = json.loads(line)
        answer = answered(call["method"], call["params"], sock)
        sock.sendall(json.dumps({"id": call["id"], "result": answer}).encode() + b"\n")


main()
