"""Answer everything that waits, from its own kernel session, and record the replies.

Run as a program: ``approver.py SOCKET LEDGER``. One line a decision that the gateway acknowledged.
"""

import itertools
import sys
import time
from pathlib import Path

from bot.client import Client
from core.errors import SaysoError

REPLIES = ("allow-once", "deny", "allow-once", "allow-once")


def answer_all(client: Client, ledger: Path, turns: "itertools.cycle[str]") -> None:
    """Answer what waits now."""
    for row in client.call("exec.approval.list", {"limit": 50})["pending"]:
        reply = next(turns)
        told = client.call("exec.approval.resolve", {"id": row["id"], "decision": reply})
        if told["accepted"]:
            with ledger.open("a") as lines:
                lines.write(f"{row['id']} {reply}\n")


def main(socket: str, ledger: Path) -> None:
    """Answer forever; look again for a gateway that is away."""
    turns = itertools.cycle(REPLIES)
    while True:
        try:
            with Client(socket) as client:
                while True:
                    answer_all(client, ledger, turns)
                    time.sleep(0.005)
        except (SaysoError, OSError):
            time.sleep(0.02)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
